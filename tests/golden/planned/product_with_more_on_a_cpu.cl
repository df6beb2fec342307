/* y = maximum(a @ b + c, s0)    f32, in f32, 6 x 64 elements in registers, slices of 384 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void contract_add_maximum(const uint m,
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
                          const uint b_stride1,
                          __global const float *restrict c_buffer,
                          const ulong c_offset,
                          const uint c_stride0,
                          const uint c_stride1,
                          const float s0,
                          __global float *restrict y_buffer,
                          const ulong y_offset,
                          const uint y_stride0,
                          const uint y_stride1)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global const float *c = AT(c_buffer, c_offset);
    __global float *y = AT(y_buffer, y_offset);
    __local float sums[8064] __attribute__((aligned(64)));
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
    for (uint slice = begin; slice < end; ++slice) {
        const uint difference = k - slice * 384;
        const ulong count = (ulong)min(difference, 384u);
        const bool goes_on = slice != begin;
        const bool is_last = slice + 1 == end;
        const uint b_row = slice * b_stride0;
        const uint a_row = slice * a_stride0;
        for (uint panel = panel_begin; panel < panel_end; ++panel) {
            const uint column = panel * 64;
            const ulong b_at = (ulong)((b_row + panel * b_stride1) * 16);
            const uint product_2 = (panel - panel_begin) * tiles_each;
            const bool is_at_most = column + 64 <= n;
            for (uint tile = tile_begin; tile < tile_end; ++tile) {
                const ulong a_at = (ulong)((a_row + tile * a_stride1) * 16);
                const ulong slot = (ulong)((product_2 + (tile - tile_begin)) * 384);
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
                    const ulong sum_29 = b_at + i * 64;
                    const float16 b_value = LOAD(float16, b + sum_29);
                    const float16 b_value_1 = LOAD(float16, b + (sum_29 + 16));
                    const float16 b_value_2 = LOAD(float16, b + (sum_29 + 32));
                    const float16 b_value_3 = LOAD(float16, b + (sum_29 + 48));
                    const ulong sum_33 = a_at + i;
                    const float16 repeated = (float16)(a[sum_33]);
                    acc_0_0 = fma(repeated, b_value, acc_0_0);
                    acc_0_1 = fma(repeated, b_value_1, acc_0_1);
                    acc_0_2 = fma(repeated, b_value_2, acc_0_2);
                    acc_0_3 = fma(repeated, b_value_3, acc_0_3);
                    const float16 repeated_1 = (float16)(a[sum_33 + 384]);
                    acc_1_0 = fma(repeated_1, b_value, acc_1_0);
                    acc_1_1 = fma(repeated_1, b_value_1, acc_1_1);
                    acc_1_2 = fma(repeated_1, b_value_2, acc_1_2);
                    acc_1_3 = fma(repeated_1, b_value_3, acc_1_3);
                    const float16 repeated_2 = (float16)(a[sum_33 + 768]);
                    acc_2_0 = fma(repeated_2, b_value, acc_2_0);
                    acc_2_1 = fma(repeated_2, b_value_1, acc_2_1);
                    acc_2_2 = fma(repeated_2, b_value_2, acc_2_2);
                    acc_2_3 = fma(repeated_2, b_value_3, acc_2_3);
                    const float16 repeated_3 = (float16)(a[sum_33 + 1152]);
                    acc_3_0 = fma(repeated_3, b_value, acc_3_0);
                    acc_3_1 = fma(repeated_3, b_value_1, acc_3_1);
                    acc_3_2 = fma(repeated_3, b_value_2, acc_3_2);
                    acc_3_3 = fma(repeated_3, b_value_3, acc_3_3);
                    const float16 repeated_4 = (float16)(a[sum_33 + 1536]);
                    acc_4_0 = fma(repeated_4, b_value, acc_4_0);
                    acc_4_1 = fma(repeated_4, b_value_1, acc_4_1);
                    acc_4_2 = fma(repeated_4, b_value_2, acc_4_2);
                    acc_4_3 = fma(repeated_4, b_value_3, acc_4_3);
                    const float16 repeated_5 = (float16)(a[sum_33 + 1920]);
                    acc_5_0 = fma(repeated_5, b_value, acc_5_0);
                    acc_5_1 = fma(repeated_5, b_value_1, acc_5_1);
                    acc_5_2 = fma(repeated_5, b_value_2, acc_5_2);
                    acc_5_3 = fma(repeated_5, b_value_3, acc_5_3);
                }
                const uint product_6 = tile * 6;
                const bool and_value = product_6 + 6 <= m && is_at_most;
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
                    if (and_value) {
                        const uint c_row = quotient_1 * c_stride0;
                        const float16 repeated_6 = (float16)(s0);
                        const uint y_row = quotient_1 * y_stride0;
                        for (uint down = 0; down < 6; ++down) {
                            const uint product_7 = down * 64;
                            const uint sum_63 = product_6 + down;
                            const uint c_row_2 = c_row + sum_63 * c_stride1;
                            const uint y_row_2 = y_row + sum_63 * y_stride1;
                            for (uint across = 0; across < 64; across += 16) {
                                const uint sum_66 = column + across;
                                const float16 c_i = vload16(0, c + (c_row_2 + sum_66));
                                const float16 sum_67 = LOAD_LOCAL(float16, sums + (slot + (ulong)(product_7 + across))) + c_i;
                                vstore16(select(repeated_6, sum_67, (sum_67 > repeated_6) | isnan(sum_67)), 0, y + (y_row_2 + sum_66));
                            }
                        }
                    } else {
                        const uint difference_3 = m - product_6;
                        const uint difference_4 = n - column;
                        const uint smaller_2 = min(difference_4, 64u);
                        const uint c_row_3 = quotient_1 * c_stride0;
                        const uint y_row_3 = quotient_1 * y_stride0;
                        for (uint down_1 = 0; down_1 < min(difference_3, 6u); ++down_1) {
                            const uint product_8 = down_1 * 64;
                            const uint sum_68 = product_6 + down_1;
                            const uint c_row_5 = c_row_3 + sum_68 * c_stride1;
                            const uint y_row_5 = y_row_3 + sum_68 * y_stride1;
                            for (uint across_1 = 0; across_1 < smaller_2; ++across_1) {
                                const uint sum_71 = column + across_1;
                                const float c_i_1 = c[c_row_5 + sum_71];
                                const float sum_72 = sums[slot + (ulong)(product_8 + across_1)] + c_i_1;
                                y[y_row_5 + sum_71] = sum_72 > s0 || isnan(sum_72) ? sum_72 : s0;
                            }
                        }
                    }
                }
            }
        }
    }
}
