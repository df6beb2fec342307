/* y = a @ b    f32, in f32, 6 x 64 elements in registers, slices of 384 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void contract(const uint m,
              const uint n,
              const uint k,
              const uint slices,
              const uint slices_each,
              const uint tiles,
              const uint tiles_each,
              const uint panels,
              const uint panels_each,
              const uint blocks_down,
              const uint blocks_across,
              __global const float *restrict a_buffer,
              const ulong a_offset,
              const uint a_stride0,
              const uint a_stride1,
              __global const float *restrict b_buffer,
              const ulong b_offset,
              const uint b_stride0,
              __global float *restrict y_buffer,
              const ulong y_offset,
              const uint y_stride0,
              const uint y_stride1)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global float *y = AT(y_buffer, y_offset);
    __local float sums[8064] __attribute__((aligned(64)));
    __local uint lines[384];
    const uint group = get_group_id(0);
    const uint quotient = group / blocks_down;
    const uint quotient_1 = quotient / blocks_across;
    const uint tile_begin = group % blocks_down * tiles_each;
    const uint sum = tile_begin + tiles_each;
    const uint tile_end = min(sum, tiles);
    const uint panel_begin = quotient % blocks_across * panels_each;
    const uint sum_1 = panel_begin + panels_each;
    const uint panel_end = min(sum_1, panels);
    const uint begin = quotient_1 * slices_each;
    const uint sum_2 = begin + slices_each;
    const uint end = min(sum_2, slices);
    const uint difference = n - 64;
    for (uint slice = begin; slice < end; ++slice) {
        const uint product = slice * 384;
        const uint difference_1 = k - product;
        const ulong count = (ulong)min(difference_1, 384u);
        const bool goes_on = slice != begin;
        const bool is_last = slice + 1 == end;
        for (uint line = 0; line < (uint)count; ++line) {
            lines[line] = (product + line) * b_stride0;
        }
        const uint a_row = slice * a_stride0;
        for (uint panel = panel_begin; panel < panel_end; ++panel) {
            const uint column = panel * 64;
            const uint first = min(column, difference);
            const ulong b_at = (ulong)first;
            const ulong converted_1 = (ulong)(column - first);
            const uint product_1 = (panel - panel_begin) * tiles_each;
            const bool is_at_most = column + 64 <= n;
            for (uint tile = tile_begin; tile < tile_end; ++tile) {
                const ulong a_at = (ulong)((a_row + tile * a_stride1) * 16);
                const ulong slot = (ulong)((product_1 + (tile - tile_begin)) * 384);
                float16 acc_0_0 = (float16)(0.0f);
                float16 acc_0_1 = (float16)(0.0f);
                float16 acc_0_2 = (float16)(0.0f);
                float16 acc_0_3 = (float16)(0.0f);
                float16 acc_1_0 = (float16)(0.0f);
                float16 acc_1_1 = (float16)(0.0f);
                float16 acc_1_2 = (float16)(0.0f);
                float16 acc_1_3 = (float16)(0.0f);
                float16 acc_2_0 = (float16)(0.0f);
                float16 acc_2_1 = (float16)(0.0f);
                float16 acc_2_2 = (float16)(0.0f);
                float16 acc_2_3 = (float16)(0.0f);
                float16 acc_3_0 = (float16)(0.0f);
                float16 acc_3_1 = (float16)(0.0f);
                float16 acc_3_2 = (float16)(0.0f);
                float16 acc_3_3 = (float16)(0.0f);
                float16 acc_4_0 = (float16)(0.0f);
                float16 acc_4_1 = (float16)(0.0f);
                float16 acc_4_2 = (float16)(0.0f);
                float16 acc_4_3 = (float16)(0.0f);
                float16 acc_5_0 = (float16)(0.0f);
                float16 acc_5_1 = (float16)(0.0f);
                float16 acc_5_2 = (float16)(0.0f);
                float16 acc_5_3 = (float16)(0.0f);
                if (goes_on) {
                    acc_0_0 = LOAD_LOCAL(float16, sums + slot);
                    acc_0_1 = LOAD_LOCAL(float16, sums + (slot + 16));
                    acc_0_2 = LOAD_LOCAL(float16, sums + (slot + 32));
                    acc_0_3 = LOAD_LOCAL(float16, sums + (slot + 48));
                    acc_1_0 = LOAD_LOCAL(float16, sums + (slot + 64));
                    acc_1_1 = LOAD_LOCAL(float16, sums + (slot + 80));
                    acc_1_2 = LOAD_LOCAL(float16, sums + (slot + 96));
                    acc_1_3 = LOAD_LOCAL(float16, sums + (slot + 112));
                    acc_2_0 = LOAD_LOCAL(float16, sums + (slot + 128));
                    acc_2_1 = LOAD_LOCAL(float16, sums + (slot + 144));
                    acc_2_2 = LOAD_LOCAL(float16, sums + (slot + 160));
                    acc_2_3 = LOAD_LOCAL(float16, sums + (slot + 176));
                    acc_3_0 = LOAD_LOCAL(float16, sums + (slot + 192));
                    acc_3_1 = LOAD_LOCAL(float16, sums + (slot + 208));
                    acc_3_2 = LOAD_LOCAL(float16, sums + (slot + 224));
                    acc_3_3 = LOAD_LOCAL(float16, sums + (slot + 240));
                    acc_4_0 = LOAD_LOCAL(float16, sums + (slot + 256));
                    acc_4_1 = LOAD_LOCAL(float16, sums + (slot + 272));
                    acc_4_2 = LOAD_LOCAL(float16, sums + (slot + 288));
                    acc_4_3 = LOAD_LOCAL(float16, sums + (slot + 304));
                    acc_5_0 = LOAD_LOCAL(float16, sums + (slot + 320));
                    acc_5_1 = LOAD_LOCAL(float16, sums + (slot + 336));
                    acc_5_2 = LOAD_LOCAL(float16, sums + (slot + 352));
                    acc_5_3 = LOAD_LOCAL(float16, sums + (slot + 368));
                }
                for (ulong i = 0; i < count; ++i) {
                    const ulong sum_30 = b_at + (ulong)lines[i];
                    const float16 b_i = vload16(0, b + sum_30);
                    const float16 b_i_1 = vload16(0, b + (sum_30 + 16));
                    const float16 b_i_2 = vload16(0, b + (sum_30 + 32));
                    const float16 b_i_3 = vload16(0, b + (sum_30 + 48));
                    const ulong sum_34 = a_at + i;
                    const float16 repeated = (float16)(a[sum_34]);
                    acc_0_0 = fma(repeated, b_i, acc_0_0);
                    acc_0_1 = fma(repeated, b_i_1, acc_0_1);
                    acc_0_2 = fma(repeated, b_i_2, acc_0_2);
                    acc_0_3 = fma(repeated, b_i_3, acc_0_3);
                    const float16 repeated_1 = (float16)(a[sum_34 + 384]);
                    acc_1_0 = fma(repeated_1, b_i, acc_1_0);
                    acc_1_1 = fma(repeated_1, b_i_1, acc_1_1);
                    acc_1_2 = fma(repeated_1, b_i_2, acc_1_2);
                    acc_1_3 = fma(repeated_1, b_i_3, acc_1_3);
                    const float16 repeated_2 = (float16)(a[sum_34 + 768]);
                    acc_2_0 = fma(repeated_2, b_i, acc_2_0);
                    acc_2_1 = fma(repeated_2, b_i_1, acc_2_1);
                    acc_2_2 = fma(repeated_2, b_i_2, acc_2_2);
                    acc_2_3 = fma(repeated_2, b_i_3, acc_2_3);
                    const float16 repeated_3 = (float16)(a[sum_34 + 1152]);
                    acc_3_0 = fma(repeated_3, b_i, acc_3_0);
                    acc_3_1 = fma(repeated_3, b_i_1, acc_3_1);
                    acc_3_2 = fma(repeated_3, b_i_2, acc_3_2);
                    acc_3_3 = fma(repeated_3, b_i_3, acc_3_3);
                    const float16 repeated_4 = (float16)(a[sum_34 + 1536]);
                    acc_4_0 = fma(repeated_4, b_i, acc_4_0);
                    acc_4_1 = fma(repeated_4, b_i_1, acc_4_1);
                    acc_4_2 = fma(repeated_4, b_i_2, acc_4_2);
                    acc_4_3 = fma(repeated_4, b_i_3, acc_4_3);
                    const float16 repeated_5 = (float16)(a[sum_34 + 1920]);
                    acc_5_0 = fma(repeated_5, b_i, acc_5_0);
                    acc_5_1 = fma(repeated_5, b_i_1, acc_5_1);
                    acc_5_2 = fma(repeated_5, b_i_2, acc_5_2);
                    acc_5_3 = fma(repeated_5, b_i_3, acc_5_3);
                }
                const uint product_4 = tile * 6;
                if (is_last && (product_4 + 6 <= m && is_at_most)) {
                    const uint y_row = quotient_1 * y_stride0;
                    const uint y_row_2 = y_row + product_4 * y_stride1;
                    vstore16(acc_0_0, 0, y + (y_row_2 + column));
                    const uint sum_41 = column + 16;
                    vstore16(acc_0_1, 0, y + (y_row_2 + sum_41));
                    const uint sum_42 = column + 32;
                    vstore16(acc_0_2, 0, y + (y_row_2 + sum_42));
                    const uint sum_43 = column + 48;
                    vstore16(acc_0_3, 0, y + (y_row_2 + sum_43));
                    const uint y_row_4 = y_row + (product_4 + 1) * y_stride1;
                    vstore16(acc_1_0, 0, y + (y_row_4 + column));
                    vstore16(acc_1_1, 0, y + (y_row_4 + sum_41));
                    vstore16(acc_1_2, 0, y + (y_row_4 + sum_42));
                    vstore16(acc_1_3, 0, y + (y_row_4 + sum_43));
                    const uint y_row_6 = y_row + (product_4 + 2) * y_stride1;
                    vstore16(acc_2_0, 0, y + (y_row_6 + column));
                    vstore16(acc_2_1, 0, y + (y_row_6 + sum_41));
                    vstore16(acc_2_2, 0, y + (y_row_6 + sum_42));
                    vstore16(acc_2_3, 0, y + (y_row_6 + sum_43));
                    const uint y_row_8 = y_row + (product_4 + 3) * y_stride1;
                    vstore16(acc_3_0, 0, y + (y_row_8 + column));
                    vstore16(acc_3_1, 0, y + (y_row_8 + sum_41));
                    vstore16(acc_3_2, 0, y + (y_row_8 + sum_42));
                    vstore16(acc_3_3, 0, y + (y_row_8 + sum_43));
                    const uint y_row_10 = y_row + (product_4 + 4) * y_stride1;
                    vstore16(acc_4_0, 0, y + (y_row_10 + column));
                    vstore16(acc_4_1, 0, y + (y_row_10 + sum_41));
                    vstore16(acc_4_2, 0, y + (y_row_10 + sum_42));
                    vstore16(acc_4_3, 0, y + (y_row_10 + sum_43));
                    const uint y_row_12 = y_row + (product_4 + 5) * y_stride1;
                    vstore16(acc_5_0, 0, y + (y_row_12 + column));
                    vstore16(acc_5_1, 0, y + (y_row_12 + sum_41));
                    vstore16(acc_5_2, 0, y + (y_row_12 + sum_42));
                    vstore16(acc_5_3, 0, y + (y_row_12 + sum_43));
                } else {
                    STORE_LOCAL(float16, sums + slot, acc_0_0);
                    STORE_LOCAL(float16, sums + (slot + 16), acc_0_1);
                    STORE_LOCAL(float16, sums + (slot + 32), acc_0_2);
                    STORE_LOCAL(float16, sums + (slot + 48), acc_0_3);
                    STORE_LOCAL(float16, sums + (slot + 64), acc_1_0);
                    STORE_LOCAL(float16, sums + (slot + 80), acc_1_1);
                    STORE_LOCAL(float16, sums + (slot + 96), acc_1_2);
                    STORE_LOCAL(float16, sums + (slot + 112), acc_1_3);
                    STORE_LOCAL(float16, sums + (slot + 128), acc_2_0);
                    STORE_LOCAL(float16, sums + (slot + 144), acc_2_1);
                    STORE_LOCAL(float16, sums + (slot + 160), acc_2_2);
                    STORE_LOCAL(float16, sums + (slot + 176), acc_2_3);
                    STORE_LOCAL(float16, sums + (slot + 192), acc_3_0);
                    STORE_LOCAL(float16, sums + (slot + 208), acc_3_1);
                    STORE_LOCAL(float16, sums + (slot + 224), acc_3_2);
                    STORE_LOCAL(float16, sums + (slot + 240), acc_3_3);
                    STORE_LOCAL(float16, sums + (slot + 256), acc_4_0);
                    STORE_LOCAL(float16, sums + (slot + 272), acc_4_1);
                    STORE_LOCAL(float16, sums + (slot + 288), acc_4_2);
                    STORE_LOCAL(float16, sums + (slot + 304), acc_4_3);
                    STORE_LOCAL(float16, sums + (slot + 320), acc_5_0);
                    STORE_LOCAL(float16, sums + (slot + 336), acc_5_1);
                    STORE_LOCAL(float16, sums + (slot + 352), acc_5_2);
                    STORE_LOCAL(float16, sums + (slot + 368), acc_5_3);
                    if (is_last) {
                        const ulong sum_72 = slot + converted_1;
                        const uint difference_5 = m - product_4;
                        const uint difference_6 = n - column;
                        const uint smaller_2 = min(difference_6, 64u);
                        const uint y_row_13 = quotient_1 * y_stride0;
                        for (uint down = 0; down < min(difference_5, 6u); ++down) {
                            const uint product_5 = down * 64;
                            const uint y_row_15 = y_row_13 + (product_4 + down) * y_stride1;
                            for (uint across = 0; across < smaller_2; ++across) {
                                y[y_row_15 + (column + across)] = sums[sum_72 + (ulong)(product_5 + across)];
                            }
                        }
                    }
                }
            }
        }
    }
}
