/* y = a + b    f32, 2-D, blocks of 8 x 8 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel void add(const uint n0,
                  const uint n1,
                  __global const float *restrict a_buffer,
                  const ulong a_offset,
                  const uint a_stride1,
                  __global const float *restrict b_buffer,
                  const ulong b_offset,
                  const uint b_stride0,
                  __global float *restrict y_buffer,
                  const ulong y_offset,
                  const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint block_1 = get_global_id(0);
    const uint block_0 = get_global_id(1);
    const uint row = block_0 * 8;
    const uint column = block_1 * 8;
    const uint sum = row + 8;
    const uint sum_1 = column + 8;
    if (sum <= n0 && sum_1 <= n1) {
        const float8 a_i = LOAD(float8, a + (column * a_stride1 + block_0) * 8);
        const float8 a_i_1 = LOAD(float8, a + ((column + 1) * a_stride1 + block_0) * 8);
        const float8 a_i_2 = LOAD(float8, a + ((column + 2) * a_stride1 + block_0) * 8);
        const float8 a_i_3 = LOAD(float8, a + ((column + 3) * a_stride1 + block_0) * 8);
        const float8 a_i_4 = LOAD(float8, a + ((column + 4) * a_stride1 + block_0) * 8);
        const float8 a_i_5 = LOAD(float8, a + ((column + 5) * a_stride1 + block_0) * 8);
        const float8 a_i_6 = LOAD(float8, a + ((column + 6) * a_stride1 + block_0) * 8);
        const float8 a_i_7 = LOAD(float8, a + ((column + 7) * a_stride1 + block_0) * 8);
        const float8 a_row_8 = (float8)(a_i.s0, a_i_1.s0, a_i_2.s0, a_i_3.s0, a_i_4.s0, a_i_5.s0, a_i_6.s0, a_i_7.s0);
        const float8 b_i = LOAD(float8, b + (row * b_stride0 + block_1) * 8);
        STORE(float8, y + (row * y_stride0 + block_1) * 8, a_row_8 + b_i);
        const float8 a_row_9 = (float8)(a_i.s1, a_i_1.s1, a_i_2.s1, a_i_3.s1, a_i_4.s1, a_i_5.s1, a_i_6.s1, a_i_7.s1);
        const uint sum_10 = row + 1;
        const float8 b_i_1 = LOAD(float8, b + (sum_10 * b_stride0 + block_1) * 8);
        STORE(float8, y + (sum_10 * y_stride0 + block_1) * 8, a_row_9 + b_i_1);
        const float8 a_row_10 = (float8)(a_i.s2, a_i_1.s2, a_i_2.s2, a_i_3.s2, a_i_4.s2, a_i_5.s2, a_i_6.s2, a_i_7.s2);
        const uint sum_12 = row + 2;
        const float8 b_i_2 = LOAD(float8, b + (sum_12 * b_stride0 + block_1) * 8);
        STORE(float8, y + (sum_12 * y_stride0 + block_1) * 8, a_row_10 + b_i_2);
        const float8 a_row_11 = (float8)(a_i.s3, a_i_1.s3, a_i_2.s3, a_i_3.s3, a_i_4.s3, a_i_5.s3, a_i_6.s3, a_i_7.s3);
        const uint sum_14 = row + 3;
        const float8 b_i_3 = LOAD(float8, b + (sum_14 * b_stride0 + block_1) * 8);
        STORE(float8, y + (sum_14 * y_stride0 + block_1) * 8, a_row_11 + b_i_3);
        const float8 a_row_12 = (float8)(a_i.s4, a_i_1.s4, a_i_2.s4, a_i_3.s4, a_i_4.s4, a_i_5.s4, a_i_6.s4, a_i_7.s4);
        const uint sum_16 = row + 4;
        const float8 b_i_4 = LOAD(float8, b + (sum_16 * b_stride0 + block_1) * 8);
        STORE(float8, y + (sum_16 * y_stride0 + block_1) * 8, a_row_12 + b_i_4);
        const float8 a_row_13 = (float8)(a_i.s5, a_i_1.s5, a_i_2.s5, a_i_3.s5, a_i_4.s5, a_i_5.s5, a_i_6.s5, a_i_7.s5);
        const uint sum_18 = row + 5;
        const float8 b_i_5 = LOAD(float8, b + (sum_18 * b_stride0 + block_1) * 8);
        STORE(float8, y + (sum_18 * y_stride0 + block_1) * 8, a_row_13 + b_i_5);
        const float8 a_row_14 = (float8)(a_i.s6, a_i_1.s6, a_i_2.s6, a_i_3.s6, a_i_4.s6, a_i_5.s6, a_i_6.s6, a_i_7.s6);
        const uint sum_20 = row + 6;
        const float8 b_i_6 = LOAD(float8, b + (sum_20 * b_stride0 + block_1) * 8);
        STORE(float8, y + (sum_20 * y_stride0 + block_1) * 8, a_row_14 + b_i_6);
        const float8 a_row_15 = (float8)(a_i.s7, a_i_1.s7, a_i_2.s7, a_i_3.s7, a_i_4.s7, a_i_5.s7, a_i_6.s7, a_i_7.s7);
        const uint sum_22 = row + 7;
        const float8 b_i_7 = LOAD(float8, b + (sum_22 * b_stride0 + block_1) * 8);
        STORE(float8, y + (sum_22 * y_stride0 + block_1) * 8, a_row_15 + b_i_7);
    } else {
        const uint smaller_1 = min(sum_1, n1);
        for (uint r = row; r < min(sum, n0); ++r) {
            const uint product = r * b_stride0 * 8;
            const uint product_1 = r * y_stride0 * 8;
            for (uint c = column; c < smaller_1; ++c) {
                const float a_i_8 = a[c * a_stride1 * 8 + r];
                const float b_i_8 = b[product + c];
                y[product_1 + c] = a_i_8 + b_i_8;
            }
        }
    }
}
