/* y = a + b    f32, 2-D, blocks of 4 x 4 in tiles of 64 x 64 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void add(const uint n0,
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
    const uint tile_1 = get_group_id(0);
    const uint tile_0 = get_group_id(1);
    const uint first_row = tile_0 * 16;
    const uint first_column = tile_1 * 16;
    const uint item = get_local_id(0);
    __local float a_tile[4096] __attribute__((aligned(16)));
    const uint last_column = n1 - 1;
    for (uint block = item; block < 256; block += 256) {
        const uint below = block % 16;
        const uint unit = block / 16;
        const uint column = (first_column + unit) * 4;
        const uint sum_1 = first_row + below;
        const uint last_unit = n0 / 4 - 1;
        const uint smaller_1 = min(sum_1, last_unit);
        const float4 a_i = LOAD(float4, a + (min(column, last_column) * a_stride1 + smaller_1) * 4);
        const uint sum_2 = column + 1;
        const float4 a_i_1 = LOAD(float4, a + (min(sum_2, last_column) * a_stride1 + smaller_1) * 4);
        const uint sum_3 = column + 2;
        const float4 a_i_2 = LOAD(float4, a + (min(sum_3, last_column) * a_stride1 + smaller_1) * 4);
        const uint sum_4 = column + 3;
        const float4 a_i_3 = LOAD(float4, a + (min(sum_4, last_column) * a_stride1 + smaller_1) * 4);
        const uint place = below * 64 + (unit ^ (below % 16));
        STORE_LOCAL(float4, a_tile + place * 4, (float4)(a_i.s0, a_i_1.s0, a_i_2.s0, a_i_3.s0));
        STORE_LOCAL(float4, a_tile + (place + 16) * 4, (float4)(a_i.s1, a_i_1.s1, a_i_2.s1, a_i_3.s1));
        STORE_LOCAL(float4, a_tile + (place + 32) * 4, (float4)(a_i.s2, a_i_1.s2, a_i_2.s2, a_i_3.s2));
        STORE_LOCAL(float4, a_tile + (place + 48) * 4, (float4)(a_i.s3, a_i_1.s3, a_i_2.s3, a_i_3.s3));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint top = tile_0 * 64;
    for (uint result = item; result < 1024; result += 256) {
        const uint below_1 = result / 16;
        const uint vector = result % 16;
        const uint row = top + below_1;
        const uint column_1 = first_column + vector;
        if (row < n0 && column_1 * 4 < n1) {
            const uint unit_1 = vector ^ (below_1 / 4 % 16);
            const float4 b_i = LOAD(float4, b + (row * b_stride0 + column_1) * 4);
            const float4 sum_9 = LOAD_LOCAL(float4, a_tile + (below_1 * 16 + unit_1) * 4) + b_i;
            STORE(float4, y + (row * y_stride0 + column_1) * 4, sum_9);
        }
    }
}
