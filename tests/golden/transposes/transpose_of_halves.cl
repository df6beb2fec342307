/* y = a    f16, 2-D, blocks of 4 x 4 in tiles of 128 x 64 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* The bits of the halves nearest to x, ties to even. */
static inline ushort4 half_bits_4(const float4 x)
{
    ushort4 bits;
    vstore_half4_rte(x, 0, (half *)&bits);
    return bits;
}

/* The values of halves, from their bits. */
static inline float4 half_values_4(const ushort4 bits)
{
    return vload_half4(0, (const half *)&bits);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void transpose(const uint n0,
               const uint n1,
               __global const half *restrict a_buffer,
               const ulong a_offset,
               const uint a_stride1,
               __global half *restrict y_buffer,
               const ulong y_offset,
               const uint y_stride0)
{
    __global const half *a = AT(a_buffer, a_offset);
    __global half *y = AT(y_buffer, y_offset);
    const uint tile_1 = get_group_id(0);
    const uint tile_0 = get_group_id(1);
    const uint first_row = tile_0 * 32;
    const uint first_column = tile_1 * 16;
    const uint item = get_local_id(0);
    __local float a_tile[8192] __attribute__((aligned(16)));
    const uint last_column = n1 - 1;
    for (uint block = item; block < 512; block += 256) {
        const uint below = block % 32;
        const uint unit = block / 32;
        const uint column = (first_column + unit) * 4;
        const uint sum_1 = first_row + below;
        const uint last_unit = n0 / 4 - 1;
        const uint smaller_1 = min(sum_1, last_unit);
        const float4 a_i = half_values_4(LOAD(ushort4, a + (min(column, last_column) * a_stride1 + smaller_1) * 4));
        const uint sum_2 = column + 1;
        const float4 a_i_1 = half_values_4(LOAD(ushort4, a + (min(sum_2, last_column) * a_stride1 + smaller_1) * 4));
        const uint sum_3 = column + 2;
        const float4 a_i_2 = half_values_4(LOAD(ushort4, a + (min(sum_3, last_column) * a_stride1 + smaller_1) * 4));
        const uint sum_4 = column + 3;
        const float4 a_i_3 = half_values_4(LOAD(ushort4, a + (min(sum_4, last_column) * a_stride1 + smaller_1) * 4));
        const uint place = below * 64 + (unit ^ (below % 16));
        STORE_LOCAL(float4, a_tile + place * 4, (float4)(a_i.s0, a_i_1.s0, a_i_2.s0, a_i_3.s0));
        STORE_LOCAL(float4, a_tile + (place + 16) * 4, (float4)(a_i.s1, a_i_1.s1, a_i_2.s1, a_i_3.s1));
        STORE_LOCAL(float4, a_tile + (place + 32) * 4, (float4)(a_i.s2, a_i_1.s2, a_i_2.s2, a_i_3.s2));
        STORE_LOCAL(float4, a_tile + (place + 48) * 4, (float4)(a_i.s3, a_i_1.s3, a_i_2.s3, a_i_3.s3));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint top = tile_0 * 128;
    for (uint result = item; result < 2048; result += 256) {
        const uint below_1 = result / 16;
        const uint vector = result % 16;
        const uint row = top + below_1;
        const uint column_1 = first_column + vector;
        if (row < n0 && column_1 * 4 < n1) {
            const uint unit_1 = vector ^ (below_1 / 4 % 16);
            const float4 a_tile_value = LOAD_LOCAL(float4, a_tile + (below_1 * 16 + unit_1) * 4);
            STORE(ushort4, y + (row * y_stride0 + column_1) * 4, half_bits_4(a_tile_value));
        }
    }
}
