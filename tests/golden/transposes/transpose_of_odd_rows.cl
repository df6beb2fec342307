/* y = a    f32, 2-D, blocks of 4 x 4 in tiles of 32 x 128 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void transpose(const uint n0,
               const uint n1,
               __global const float *restrict a_buffer,
               const ulong a_offset,
               const uint a_stride1,
               __global float *restrict y_buffer,
               const ulong y_offset,
               const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint tile_1 = get_group_id(0);
    const uint tile_0 = get_group_id(1);
    const uint first_row = tile_0 * 8;
    const uint first_column = tile_1 * 32;
    const uint item = get_local_id(0);
    __local float a_tile[4096] __attribute__((aligned(16)));
    const uint last_column = n1 - 1;
    const uint last_row = n0 - 1;
    for (uint block = item; block < 256; block += 256) {
        const uint below = block % 8;
        const uint unit = block / 8;
        const uint column = (first_column + unit) * 4;
        const uint product = (first_row + below) * 4;
        const uint smaller_1 = min(product, last_row);
        const uint sum_2 = product + 1;
        const uint smaller_2 = min(sum_2, last_row);
        const uint sum_3 = product + 2;
        const uint smaller_3 = min(sum_3, last_row);
        const uint sum_4 = product + 3;
        const uint smaller_4 = min(sum_4, last_row);
        const uint a_index = min(column, last_column) * a_stride1;
        const float a_i = a[smaller_1 + a_index];
        const float a_i_1 = a[smaller_2 + a_index];
        const float a_i_2 = a[smaller_3 + a_index];
        const float a_i_3 = a[smaller_4 + a_index];
        const uint sum_5 = column + 1;
        const uint a_index_5 = min(sum_5, last_column) * a_stride1;
        const float a_i_4 = a[smaller_1 + a_index_5];
        const float a_i_5 = a[smaller_2 + a_index_5];
        const float a_i_6 = a[smaller_3 + a_index_5];
        const float a_i_7 = a[smaller_4 + a_index_5];
        const uint sum_6 = column + 2;
        const uint a_index_10 = min(sum_6, last_column) * a_stride1;
        const float a_i_8 = a[smaller_1 + a_index_10];
        const float a_i_9 = a[smaller_2 + a_index_10];
        const float a_i_10 = a[smaller_3 + a_index_10];
        const float a_i_11 = a[smaller_4 + a_index_10];
        const uint sum_7 = column + 3;
        const uint a_index_15 = min(sum_7, last_column) * a_stride1;
        const float a_i_12 = a[smaller_1 + a_index_15];
        const float a_i_13 = a[smaller_2 + a_index_15];
        const float a_i_14 = a[smaller_3 + a_index_15];
        const float a_i_15 = a[smaller_4 + a_index_15];
        const uint place = below * 128 + (unit ^ (below % 32));
        STORE_LOCAL(float4, a_tile + place * 4, (float4)(a_i, a_i_4, a_i_8, a_i_12));
        STORE_LOCAL(float4, a_tile + (place + 32) * 4, (float4)(a_i_1, a_i_5, a_i_9, a_i_13));
        STORE_LOCAL(float4, a_tile + (place + 64) * 4, (float4)(a_i_2, a_i_6, a_i_10, a_i_14));
        STORE_LOCAL(float4, a_tile + (place + 96) * 4, (float4)(a_i_3, a_i_7, a_i_11, a_i_15));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint top = tile_0 * 32;
    const uint product_6 = tile_1 * 128;
    for (uint result = item; result < 4096; result += 256) {
        const uint below_1 = result / 128;
        const uint vector = result % 128;
        const uint row = top + below_1;
        const uint column_1 = product_6 + vector;
        if (row < n0 && column_1 < n1) {
            const uint unit_1 = (vector / 4) ^ (below_1 / 4 % 32);
            const uint place_1 = (below_1 * 32 + unit_1) * 4 + vector % 4;
            y[row * y_stride0 + column_1] = a_tile[place_1];
        }
    }
}
