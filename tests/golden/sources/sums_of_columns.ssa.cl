/* y = sum(a)    f32, in f32, by columns */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void sums_of_columns(const uint n0,
                     const uint m,
                     __global const float *restrict a_buffer,
                     const ulong a_offset,
                     const uint a_stride1,
                     __global float *restrict y_buffer,
                     const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint l = get_local_id(0);
    const uint column = l % 4;
    const uint member = l / 4;
    const uint o = group * 4 + column;
    const uint quotient = (n0 + 3) / 4;
    const bool inside = o < quotient;
    const uint last = quotient - 1;
    const uint row = min(o, last);
    float4 acc = (float4)(0.0f);
    const uint rounds = m / 256;
    for (uint round_1 = 0; round_1 < rounds; ++round_1) {
        const uint row_1 = round_1 * 256 + member;
        const float4 a_i = LOAD(float4, a + (row_1 * a_stride1 + row) * 4);
        const float4 a_i_1 = LOAD(float4, a + ((row_1 + 32) * a_stride1 + row) * 4);
        const float4 a_i_2 = LOAD(float4, a + ((row_1 + 64) * a_stride1 + row) * 4);
        const float4 a_i_3 = LOAD(float4, a + ((row_1 + 96) * a_stride1 + row) * 4);
        const float4 a_i_4 = LOAD(float4, a + ((row_1 + 128) * a_stride1 + row) * 4);
        const float4 a_i_5 = LOAD(float4, a + ((row_1 + 160) * a_stride1 + row) * 4);
        const float4 a_i_6 = LOAD(float4, a + ((row_1 + 192) * a_stride1 + row) * 4);
        const float4 a_i_7 = LOAD(float4, a + ((row_1 + 224) * a_stride1 + row) * 4);
        acc = acc + a_i;
        acc = acc + a_i_1;
        acc = acc + a_i_2;
        acc = acc + a_i_3;
        acc = acc + a_i_4;
        acc = acc + a_i_5;
        acc = acc + a_i_6;
        acc = acc + a_i_7;
    }
    for (uint r = rounds * 256 + member; r < m; r += 32) {
        const float4 a_i_8 = LOAD(float4, a + (r * a_stride1 + row) * 4);
        acc = acc + a_i_8;
    }
    __local float shared[512] __attribute__((aligned(16)));
    const uint product_3 = l * 4;
    STORE_LOCAL(float4, shared + product_3, acc);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (member < 16) {
        for (uint other = member + 16; other < 32; other += 16) {
            const float4 kept = LOAD_LOCAL(float4, shared + (column + other * 4) * 4);
            acc = acc + kept;
        }
        STORE_LOCAL(float4, shared + product_3, acc);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float4 kept_1 = LOAD_LOCAL(float4, shared + column * 4);
    acc = kept_1;
    #pragma unroll 16
    for (uint other_1 = 1; other_1 < 16; ++other_1) {
        const float4 kept_2 = LOAD_LOCAL(float4, shared + (column + other_1 * 4) * 4);
        acc = acc + kept_2;
    }
    if (member == 0 && inside) {
        STORE(float4, y + row * 4, acc);
    }
}
