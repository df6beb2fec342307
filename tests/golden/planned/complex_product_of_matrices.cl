/* y = a @ b    c64, in c64, 8 x 2 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* a * b + c, with two fused operations a part. */
static inline float2 complex_fma_float2(const float2 a, const float2 b, const float2 c)
{
    const float re = fma(-a.y, b.y, fma(a.x, b.x, c.x));
    const float im = fma(a.y, b.x, fma(a.x, b.y, c.y));
    return (float2)(re, im);
}

/* a * b + c, with two fused operations a part. */
static inline float4 complex_fma_float4(const float4 a, const float4 b, const float4 c)
{
    const float2 re = fma(-a.odd, b.odd, fma(a.even, b.even, c.even));
    const float2 im = fma(a.odd, b.even, fma(a.even, b.odd, c.odd));
    float4 z;
    z.even = re;
    z.odd = im;
    return z;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void contract(const uint m,
              const uint n,
              const uint k,
              const uint per,
              const uint columns,
              const uint rows,
              __global const float2 *restrict a_buffer,
              const ulong a_offset,
              const uint a_stride0,
              const uint a_stride1,
              __global const float2 *restrict b_buffer,
              const ulong b_offset,
              const uint b_stride0,
              __global float2 *restrict y_buffer,
              const ulong y_offset,
              const uint y_stride0,
              const uint y_stride1)
{
    __global const float2 *a = AT(a_buffer, a_offset);
    __global const float2 *b = AT(b_buffer, b_offset);
    __global float2 *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint l = get_local_id(0);
    const uint quotient = group / rows;
    const uint row = (group % rows * 16 + l / 16) * 8;
    const uint quotient_2 = quotient / columns;
    const uint sum_1 = quotient % columns * 16 + l % 16;
    const uint column = sum_1 * 2;
    const bool is_less = row < m;
    if (is_less && column < n) {
        if (column + 1 < n) {
            const uint difference = m - 1;
            const uint sum_3 = row + 1;
            const uint sum_4 = row + 2;
            const uint sum_5 = row + 3;
            const uint sum_6 = row + 4;
            const uint sum_7 = row + 5;
            const uint sum_8 = row + 6;
            const uint sum_9 = row + 7;
            float4 acc = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            float4 acc_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            float4 acc_2 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            float4 acc_3 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            float4 acc_4 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            float4 acc_5 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            float4 acc_6 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            float4 acc_7 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
            const uint begin = quotient_2 * per;
            const uint sum_10 = begin + per;
            const uint end = min(sum_10, k);
            const uint a_index = min(row, difference) * a_stride0;
            const uint a_index_1 = min(sum_3, difference) * a_stride0;
            const uint a_index_2 = min(sum_4, difference) * a_stride0;
            const uint a_index_3 = min(sum_5, difference) * a_stride0;
            const uint a_index_4 = min(sum_6, difference) * a_stride0;
            const uint a_index_5 = min(sum_7, difference) * a_stride0;
            const uint a_index_6 = min(sum_8, difference) * a_stride0;
            const uint a_index_7 = min(sum_9, difference) * a_stride0;
            #pragma unroll 4
            for (uint i = begin; i < end; ++i) {
                const float4 b_i = LOAD(float4, b + (i * b_stride0 + sum_1) * 2);
                const uint a_index_8 = i * a_stride1;
                const float2 a_i = a[a_index + a_index_8];
                acc = complex_fma_float4((float4)(a_i, a_i), b_i, acc);
                const float2 a_i_1 = a[a_index_1 + a_index_8];
                acc_1 = complex_fma_float4((float4)(a_i_1, a_i_1), b_i, acc_1);
                const float2 a_i_2 = a[a_index_2 + a_index_8];
                acc_2 = complex_fma_float4((float4)(a_i_2, a_i_2), b_i, acc_2);
                const float2 a_i_3 = a[a_index_3 + a_index_8];
                acc_3 = complex_fma_float4((float4)(a_i_3, a_i_3), b_i, acc_3);
                const float2 a_i_4 = a[a_index_4 + a_index_8];
                acc_4 = complex_fma_float4((float4)(a_i_4, a_i_4), b_i, acc_4);
                const float2 a_i_5 = a[a_index_5 + a_index_8];
                acc_5 = complex_fma_float4((float4)(a_i_5, a_i_5), b_i, acc_5);
                const float2 a_i_6 = a[a_index_6 + a_index_8];
                acc_6 = complex_fma_float4((float4)(a_i_6, a_i_6), b_i, acc_6);
                const float2 a_i_7 = a[a_index_7 + a_index_8];
                acc_7 = complex_fma_float4((float4)(a_i_7, a_i_7), b_i, acc_7);
            }
            if (is_less) {
                STORE(float4, y + (quotient_2 * y_stride0 + row * y_stride1 + sum_1) * 2, acc);
            }
            if (sum_3 < m) {
                STORE(float4, y + (quotient_2 * y_stride0 + sum_3 * y_stride1 + sum_1) * 2, acc_1);
            }
            if (sum_4 < m) {
                STORE(float4, y + (quotient_2 * y_stride0 + sum_4 * y_stride1 + sum_1) * 2, acc_2);
            }
            if (sum_5 < m) {
                STORE(float4, y + (quotient_2 * y_stride0 + sum_5 * y_stride1 + sum_1) * 2, acc_3);
            }
            if (sum_6 < m) {
                STORE(float4, y + (quotient_2 * y_stride0 + sum_6 * y_stride1 + sum_1) * 2, acc_4);
            }
            if (sum_7 < m) {
                STORE(float4, y + (quotient_2 * y_stride0 + sum_7 * y_stride1 + sum_1) * 2, acc_5);
            }
            if (sum_8 < m) {
                STORE(float4, y + (quotient_2 * y_stride0 + sum_8 * y_stride1 + sum_1) * 2, acc_6);
            }
            if (sum_9 < m) {
                STORE(float4, y + (quotient_2 * y_stride0 + sum_9 * y_stride1 + sum_1) * 2, acc_7);
            }
        } else {
            const uint difference_1 = m - 1;
            const uint sum_11 = row + 1;
            const uint sum_12 = row + 2;
            const uint sum_13 = row + 3;
            const uint sum_14 = row + 4;
            const uint sum_15 = row + 5;
            const uint sum_16 = row + 6;
            const uint sum_17 = row + 7;
            const uint begin_1 = quotient_2 * per;
            const uint sum_18 = begin_1 + per;
            const uint end_1 = min(sum_18, k);
            const uint a_index_17 = min(row, difference_1) * a_stride0;
            const uint a_index_18 = min(sum_11, difference_1) * a_stride0;
            const uint a_index_19 = min(sum_12, difference_1) * a_stride0;
            const uint a_index_20 = min(sum_13, difference_1) * a_stride0;
            const uint a_index_21 = min(sum_14, difference_1) * a_stride0;
            const uint a_index_22 = min(sum_15, difference_1) * a_stride0;
            const uint a_index_23 = min(sum_16, difference_1) * a_stride0;
            const uint a_index_24 = min(sum_17, difference_1) * a_stride0;
            const bool is_less_10 = sum_11 < m;
            const bool is_less_11 = sum_12 < m;
            const bool is_less_12 = sum_13 < m;
            const bool is_less_13 = sum_14 < m;
            const bool is_less_14 = sum_15 < m;
            const bool is_less_15 = sum_16 < m;
            const bool is_less_16 = sum_17 < m;
            for (uint j = column; j < n; ++j) {
                float2 acc_8 = (float2)(0.0f, 0.0f);
                float2 acc_9 = (float2)(0.0f, 0.0f);
                float2 acc_10 = (float2)(0.0f, 0.0f);
                float2 acc_11 = (float2)(0.0f, 0.0f);
                float2 acc_12 = (float2)(0.0f, 0.0f);
                float2 acc_13 = (float2)(0.0f, 0.0f);
                float2 acc_14 = (float2)(0.0f, 0.0f);
                float2 acc_15 = (float2)(0.0f, 0.0f);
                #pragma unroll 4
                for (uint i_1 = begin_1; i_1 < end_1; ++i_1) {
                    const float2 b_i_1 = b[i_1 * b_stride0 * 2 + j];
                    const uint a_index_25 = i_1 * a_stride1;
                    const float2 a_i_8 = a[a_index_17 + a_index_25];
                    acc_8 = complex_fma_float2(a_i_8, b_i_1, acc_8);
                    const float2 a_i_9 = a[a_index_18 + a_index_25];
                    acc_9 = complex_fma_float2(a_i_9, b_i_1, acc_9);
                    const float2 a_i_10 = a[a_index_19 + a_index_25];
                    acc_10 = complex_fma_float2(a_i_10, b_i_1, acc_10);
                    const float2 a_i_11 = a[a_index_20 + a_index_25];
                    acc_11 = complex_fma_float2(a_i_11, b_i_1, acc_11);
                    const float2 a_i_12 = a[a_index_21 + a_index_25];
                    acc_12 = complex_fma_float2(a_i_12, b_i_1, acc_12);
                    const float2 a_i_13 = a[a_index_22 + a_index_25];
                    acc_13 = complex_fma_float2(a_i_13, b_i_1, acc_13);
                    const float2 a_i_14 = a[a_index_23 + a_index_25];
                    acc_14 = complex_fma_float2(a_i_14, b_i_1, acc_14);
                    const float2 a_i_15 = a[a_index_24 + a_index_25];
                    acc_15 = complex_fma_float2(a_i_15, b_i_1, acc_15);
                }
                if (is_less) {
                    y[(quotient_2 * y_stride0 + row * y_stride1) * 2 + j] = acc_8;
                }
                if (is_less_10) {
                    y[(quotient_2 * y_stride0 + sum_11 * y_stride1) * 2 + j] = acc_9;
                }
                if (is_less_11) {
                    y[(quotient_2 * y_stride0 + sum_12 * y_stride1) * 2 + j] = acc_10;
                }
                if (is_less_12) {
                    y[(quotient_2 * y_stride0 + sum_13 * y_stride1) * 2 + j] = acc_11;
                }
                if (is_less_13) {
                    y[(quotient_2 * y_stride0 + sum_14 * y_stride1) * 2 + j] = acc_12;
                }
                if (is_less_14) {
                    y[(quotient_2 * y_stride0 + sum_15 * y_stride1) * 2 + j] = acc_13;
                }
                if (is_less_15) {
                    y[(quotient_2 * y_stride0 + sum_16 * y_stride1) * 2 + j] = acc_14;
                }
                if (is_less_16) {
                    y[(quotient_2 * y_stride0 + sum_17 * y_stride1) * 2 + j] = acc_15;
                }
            }
        }
    }
}
