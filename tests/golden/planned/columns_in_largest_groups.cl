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
    const uint rounds = m / 1024;
    for (uint round_1 = 0; round_1 < rounds; ++round_1) {
        const uint row_1 = round_1 * 1024 + member;
        const float4 a_i = LOAD(float4, a + (row_1 * a_stride1 + row) * 4);
        const float4 a_i_1 = LOAD(float4, a + ((row_1 + 128) * a_stride1 + row) * 4);
        const float4 a_i_2 = LOAD(float4, a + ((row_1 + 256) * a_stride1 + row) * 4);
        const float4 a_i_3 = LOAD(float4, a + ((row_1 + 384) * a_stride1 + row) * 4);
        const float4 a_i_4 = LOAD(float4, a + ((row_1 + 512) * a_stride1 + row) * 4);
        const float4 a_i_5 = LOAD(float4, a + ((row_1 + 640) * a_stride1 + row) * 4);
        const float4 a_i_6 = LOAD(float4, a + ((row_1 + 768) * a_stride1 + row) * 4);
        const float4 a_i_7 = LOAD(float4, a + ((row_1 + 896) * a_stride1 + row) * 4);
        acc = acc + a_i;
        acc = acc + a_i_1;
        acc = acc + a_i_2;
        acc = acc + a_i_3;
        acc = acc + a_i_4;
        acc = acc + a_i_5;
        acc = acc + a_i_6;
        acc = acc + a_i_7;
    }
    const uint sum_9 = rounds * 1024 + member;
    for (uint r = sum_9; r < m; r += 128) {
        const float4 a_i_8 = LOAD(float4, a + (r * a_stride1 + row) * 4);
        acc = acc + a_i_8;
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
        const uint row_9 = round_2 * 1024 + member;
        const uint row_10 = row_9 + 128;
        const uint row_11 = row_9 + 256;
        const uint row_12 = row_9 + 384;
        const uint row_13 = row_9 + 512;
        const uint row_14 = row_9 + 640;
        const uint row_15 = row_9 + 768;
        const uint row_16 = row_9 + 896;
        const float4 a_i_9 = LOAD(float4, a + (row_9 * a_stride1 + row) * 4);
        const float4 a_i_10 = LOAD(float4, a + (row_10 * a_stride1 + row) * 4);
        const float4 a_i_11 = LOAD(float4, a + (row_11 * a_stride1 + row) * 4);
        const float4 a_i_12 = LOAD(float4, a + (row_12 * a_stride1 + row) * 4);
        const float4 a_i_13 = LOAD(float4, a + (row_13 * a_stride1 + row) * 4);
        const float4 a_i_14 = LOAD(float4, a + (row_14 * a_stride1 + row) * 4);
        const float4 a_i_15 = LOAD(float4, a + (row_15 * a_stride1 + row) * 4);
        const float4 a_i_16 = LOAD(float4, a + (row_16 * a_stride1 + row) * 4);
        const float4 difference = a_i_9 - quotient_1;
        const float4 difference_1 = a_i_10 - quotient_1;
        const float4 difference_2 = a_i_11 - quotient_1;
        const float4 difference_3 = a_i_12 - quotient_1;
        const float4 difference_4 = a_i_13 - quotient_1;
        const float4 difference_5 = a_i_14 - quotient_1;
        const float4 difference_6 = a_i_15 - quotient_1;
        const float4 difference_7 = a_i_16 - quotient_1;
        if (inside) {
            STORE(float4, y + (row_9 * y_stride1 + row) * 4, difference);
            STORE(float4, y + (row_10 * y_stride1 + row) * 4, difference_1);
            STORE(float4, y + (row_11 * y_stride1 + row) * 4, difference_2);
            STORE(float4, y + (row_12 * y_stride1 + row) * 4, difference_3);
            STORE(float4, y + (row_13 * y_stride1 + row) * 4, difference_4);
            STORE(float4, y + (row_14 * y_stride1 + row) * 4, difference_5);
            STORE(float4, y + (row_15 * y_stride1 + row) * 4, difference_6);
            STORE(float4, y + (row_16 * y_stride1 + row) * 4, difference_7);
        }
    }
    for (uint r_1 = sum_9; r_1 < m; r_1 += 128) {
        const float4 a_i_17 = LOAD(float4, a + (r_1 * a_stride1 + row) * 4);
        const float4 difference_8 = a_i_17 - quotient_1;
        if (inside) {
            STORE(float4, y + (r_1 * y_stride1 + row) * 4, difference_8);
        }
    }
}
