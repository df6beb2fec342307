/* y = a - sum(a)/s0    f32, in f32, by columns */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void sum_div_sub(const uint n0,
                 const uint m,
                 __global const float *restrict a_buffer,
                 const ulong a_offset,
                 const uint a_stride1,
                 const float s0,
                 __global float *restrict y_buffer,
                 const ulong y_offset,
                 const uint y_stride1)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint l = get_local_id(0);
    const uint column = l % 8;
    const uint member = l / 8;
    const uint o = group * 8 + column;
    const uint quotient = (n0 + 3) / 4;
    const bool inside = o < quotient;
    const uint last = quotient - 1;
    const uint row = min(o, last);
    float4 acc = (float4)(0.0f);
    const uint rounds = m / 512;
    for (uint round_1 = 0; round_1 < rounds; ++round_1) {
        const uint row_1 = round_1 * 512 + member;
        const float4 a_i = LOAD(float4, a + (row_1 * a_stride1 + row) * 4);
        const float4 a_i_1 = LOAD(float4, a + ((row_1 + 128) * a_stride1 + row) * 4);
        const float4 a_i_2 = LOAD(float4, a + ((row_1 + 256) * a_stride1 + row) * 4);
        const float4 a_i_3 = LOAD(float4, a + ((row_1 + 384) * a_stride1 + row) * 4);
        acc = acc + a_i;
        acc = acc + a_i_1;
        acc = acc + a_i_2;
        acc = acc + a_i_3;
    }
    const uint sum_5 = rounds * 512 + member;
    for (uint r = sum_5; r < m; r += 128) {
        const float4 a_i_4 = LOAD(float4, a + (r * a_stride1 + row) * 4);
        acc = acc + a_i_4;
    }
    __local float shared[4096] __attribute__((aligned(16)));
    const uint product_3 = l * 4;
    STORE_LOCAL(float4, shared + product_3, acc);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (member < 16) {
        for (uint other = member + 16; other < 128; other += 16) {
            const float4 kept = LOAD_LOCAL(float4, shared + (column + other * 8) * 4);
            acc = acc + kept;
        }
        STORE_LOCAL(float4, shared + product_3, acc);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float4 kept_1 = LOAD_LOCAL(float4, shared + column * 4);
    acc = kept_1;
    #pragma unroll 16
    for (uint other_1 = 1; other_1 < 16; ++other_1) {
        const float4 kept_2 = LOAD_LOCAL(float4, shared + (column + other_1 * 8) * 4);
        acc = acc + kept_2;
    }
    const float4 quotient_1 = acc / s0;
    for (uint round_2 = 0; round_2 < rounds; ++round_2) {
        const uint row_5 = round_2 * 512 + member;
        const uint row_6 = row_5 + 128;
        const uint row_7 = row_5 + 256;
        const uint row_8 = row_5 + 384;
        const float4 a_i_5 = LOAD(float4, a + (row_5 * a_stride1 + row) * 4);
        const float4 a_i_6 = LOAD(float4, a + (row_6 * a_stride1 + row) * 4);
        const float4 a_i_7 = LOAD(float4, a + (row_7 * a_stride1 + row) * 4);
        const float4 a_i_8 = LOAD(float4, a + (row_8 * a_stride1 + row) * 4);
        const float4 difference = a_i_5 - quotient_1;
        const float4 difference_1 = a_i_6 - quotient_1;
        const float4 difference_2 = a_i_7 - quotient_1;
        const float4 difference_3 = a_i_8 - quotient_1;
        if (inside) {
            STORE(float4, y + (row_5 * y_stride1 + row) * 4, difference);
            STORE(float4, y + (row_6 * y_stride1 + row) * 4, difference_1);
            STORE(float4, y + (row_7 * y_stride1 + row) * 4, difference_2);
            STORE(float4, y + (row_8 * y_stride1 + row) * 4, difference_3);
        }
    }
    for (uint r_1 = sum_5; r_1 < m; r_1 += 128) {
        const float4 a_i_9 = LOAD(float4, a + (r_1 * a_stride1 + row) * 4);
        const float4 difference_4 = a_i_9 - quotient_1;
        if (inside) {
            STORE(float4, y + (r_1 * y_stride1 + row) * 4, difference_4);
        }
    }
}
