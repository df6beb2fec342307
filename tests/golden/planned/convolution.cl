/* y = maximum(a @ b + c, s0)    f32, in f32, tiles of 64 x 128 x 8 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void contract_add_maximum(const uint m,
                          const uint n,
                          const uint k,
                          const uint matrices,
                          const uint n0,
                          __global const float *restrict a_buffer,
                          const ulong a_offset,
                          const uint a_stride0,
                          const uint a_stride1,
                          __global const float *restrict b_buffer,
                          const ulong b_offset,
                          const uint b_first,
                          const uint b_stride0,
                          const uint b_stride1,
                          const uint b_stride2,
                          const uint b_stride4,
                          const uint b_stride5,
                          const uint b_length5,
                          const uint b_length3,
                          const uint b_place0_first,
                          const uint b_place0_stride1,
                          const uint b_end0,
                          const uint b_place1_first,
                          const uint b_place1_stride2,
                          const uint b_end1,
                          const uint per,
                          const uint tiles_down,
                          const uint tiles_across,
                          const uint raster,
                          __global const float *restrict c_buffer,
                          const ulong c_offset,
                          const float s0,
                          __global float *restrict y_buffer,
                          const ulong y_offset,
                          const uint y_stride0,
                          const uint y_stride1,
                          const uint y_stride2)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global const float *c = AT(c_buffer, c_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint item = get_local_id(0);
    __local float stage[4352] __attribute__((aligned(32)));
    const uint product = tiles_down * tiles_across;
    const uint rest = group % product;
    const uint quotient = group / product;
    const uint product_1 = raster * tiles_across;
    const uint product_2 = rest / product_1 * raster;
    const uint rest_1 = rest % product_1;
    const uint difference = tiles_down - product_2;
    const uint smaller = min(difference, raster);
    const uint i0 = quotient % n0;
    const uint quotient_3 = quotient / n0;
    const uint row = (product_2 + rest_1 % smaller) * 64;
    const uint column = rest_1 / smaller * 128;
    const uint begin = quotient_3 * per;
    const uint difference_1 = k - begin;
    const uint count = min(difference_1, per);
    const uint steps = (count + 7) / 8;
    const uint rest_3 = item % 2;
    const uint quotient_4 = item / 2;
    const uint a_k = rest_3 * 4;
    const uint a_to = rest_3 * 272 + quotient_4;
    const uint sum_2 = row + quotient_4;
    const uint difference_2 = m - 1;
    const uint a_row_2 = i0 * a_stride0 + min(sum_2, difference_2) * a_stride1;
    const uint product_4 = rest_3 * 528;
    const uint sum_3 = product_4 + quotient_4;
    const uint b_to = sum_3 + 544;
    const uint sum_4 = column + quotient_4;
    const uint difference_3 = n - 1;
    const uint smaller_2 = min(sum_4, difference_3);
    const uint rest_4 = smaller_2 % b_length5;
    const uint quotient_5 = smaller_2 / b_length5;
    const uint b_place0_index = b_place0_first + quotient_5;
    const uint b_place1_index = b_place1_first + rest_4;
    const uint b_row_1 = b_first + i0 * b_stride0;
    const uint b_row_5 = b_row_1 + quotient_5 * b_stride4 + rest_4 * b_stride5;
    const uint sum_5 = quotient_4 + 64;
    const uint sum_6 = product_4 + sum_5;
    const uint b_to_1 = sum_6 + 544;
    const uint sum_7 = column + sum_5;
    const uint smaller_3 = min(sum_7, difference_3);
    const uint rest_5 = smaller_3 % b_length5;
    const uint quotient_6 = smaller_3 / b_length5;
    const uint b_place0_index_1 = b_place0_first + quotient_6;
    const uint b_place1_index_1 = b_place1_first + rest_5;
    const uint b_row_9 = b_row_1 + quotient_6 * b_stride4 + rest_5 * b_stride5;
    const uint shr_value = item >> 5;
    const uint and_value = item & 31;
    const uint quotient_7 = shr_value / 2;
    const uint product_7 = ((and_value >> 4) * 2 + (and_value & 1)) * 4;
    const uint own_row = quotient_7 * 32 + product_7;
    const uint own_column = shr_value % 2 * 64 + ((and_value >> 1) & 7) * 4;
    const uint band_row = quotient_7 * 16 + product_7;
    float4 sum_0_0 = (float4)(0.0f);
    float4 sum_0_1 = (float4)(0.0f);
    float4 sum_1_0 = (float4)(0.0f);
    float4 sum_1_1 = (float4)(0.0f);
    float4 sum_2_0 = (float4)(0.0f);
    float4 sum_2_1 = (float4)(0.0f);
    float4 sum_3_0 = (float4)(0.0f);
    float4 sum_3_1 = (float4)(0.0f);
    float4 sum_4_0 = (float4)(0.0f);
    float4 sum_4_1 = (float4)(0.0f);
    float4 sum_5_0 = (float4)(0.0f);
    float4 sum_5_1 = (float4)(0.0f);
    float4 sum_6_0 = (float4)(0.0f);
    float4 sum_6_1 = (float4)(0.0f);
    float4 sum_7_0 = (float4)(0.0f);
    float4 sum_7_1 = (float4)(0.0f);
    const uint ragged = count - (steps - 1) * 8;
    float4 a_held = (float4)(0.0f);
    float4 b_held = (float4)(0.0f);
    float4 b_held_1 = (float4)(0.0f);
    const bool is_less = a_k < ragged;
    if (is_less) {
        const float4 a_i = LOAD(float4, a + (a_row_2 + (begin + a_k) / 4) * 4);
        a_held = a_i;
    }
    b_held = (float4)(0.0f);
    const uint sum_10 = begin + a_k;
    const uint rest_7 = sum_10 % b_length3;
    const uint quotient_9 = sum_10 / b_length3;
    const uint rest_8 = quotient_9 % 3;
    const uint quotient_10 = quotient_9 / 3;
    const uint b_place0_index_2 = quotient_10 * b_place0_stride1;
    const uint b_place1_index_2 = rest_8 * b_place1_stride2;
    if (is_less && (b_place0_index + b_place0_index_2 < b_end0 && b_place1_index + b_place1_index_2 < b_end1)) {
        const uint b_index = b_row_5 + quotient_10 * b_stride1 + rest_8 * b_stride2 + rest_7 / 4;
        const float4 b_i = LOAD(float4, b + b_index * 4);
        b_held = b_i;
    }
    b_held_1 = (float4)(0.0f);
    if (is_less && (b_place0_index_1 + b_place0_index_2 < b_end0 && b_place1_index_1 + b_place1_index_2 < b_end1)) {
        const uint b_index_2 = b_row_9 + quotient_10 * b_stride1 + rest_8 * b_stride2 + rest_7 / 4;
        const float4 b_i_1 = LOAD(float4, b + b_index_2 * 4);
        b_held_1 = b_i_1;
    }
    stage[a_to] = a_held.s0;
    stage[a_to + 68] = a_held.s1;
    stage[a_to + 136] = a_held.s2;
    stage[a_to + 204] = a_held.s3;
    stage[b_to] = b_held.s0;
    stage[sum_3 + 676] = b_held.s1;
    stage[sum_3 + 808] = b_held.s2;
    stage[sum_3 + 940] = b_held.s3;
    stage[b_to_1] = b_held_1.s0;
    stage[sum_6 + 676] = b_held_1.s1;
    stage[sum_6 + 808] = b_held_1.s2;
    stage[sum_6 + 940] = b_held_1.s3;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum_20 = own_column + 544;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_21 = step_1 + 1;
        const bool is_less_5 = sum_21 < steps;
        if (is_less_5) {
            const uint next = begin + ragged + step_1 * 8;
            const uint sum_23 = next + a_k;
            const float4 a_i_1 = LOAD(float4, a + (a_row_2 + sum_23 / 4) * 4);
            a_held = a_i_1;
            b_held = (float4)(0.0f);
            const uint rest_9 = sum_23 % b_length3;
            const uint quotient_14 = sum_23 / b_length3;
            const uint rest_10 = quotient_14 % 3;
            const uint quotient_15 = quotient_14 / 3;
            const uint b_place0_index_5 = quotient_15 * b_place0_stride1;
            const uint b_place1_index_5 = rest_10 * b_place1_stride2;
            if (b_place0_index + b_place0_index_5 < b_end0 && b_place1_index + b_place1_index_5 < b_end1) {
                const uint b_index_4 = b_row_5 + quotient_15 * b_stride1 + rest_10 * b_stride2 + rest_9 / 4;
                const float4 b_i_2 = LOAD(float4, b + b_index_4 * 4);
                b_held = b_i_2;
            }
            b_held_1 = (float4)(0.0f);
            if (b_place0_index_1 + b_place0_index_5 < b_end0 && b_place1_index_1 + b_place1_index_5 < b_end1) {
                const uint b_index_6 = b_row_9 + quotient_15 * b_stride1 + rest_10 * b_stride2 + rest_9 / 4;
                const float4 b_i_3 = LOAD(float4, b + b_index_6 * 4);
                b_held_1 = b_i_3;
            }
        }
        const uint product_13 = (step_1 & 1) * 1600;
        const ulong a_at = (ulong)(product_13 + own_row);
        const ulong b_at = (ulong)(product_13 + sum_20);
        #pragma unroll 8
        for (ulong i = 0; i < 8; ++i) {
            const ulong product_14 = i * 68;
            const float4 a_part = LOAD_LOCAL(float4, stage + (a_at + product_14));
            const float4 a_part_1 = LOAD_LOCAL(float4, stage + (a_at + (product_14 + 16)));
            const ulong product_15 = i * 132;
            const float4 b_part = LOAD_LOCAL(float4, stage + (b_at + product_15));
            const float4 b_part_1 = LOAD_LOCAL(float4, stage + (b_at + (product_15 + 32)));
            const float4 repeated = (float4)(a_part.s0);
            sum_0_0 = fma(repeated, b_part, sum_0_0);
            sum_0_1 = fma(repeated, b_part_1, sum_0_1);
            const float4 repeated_1 = (float4)(a_part.s1);
            sum_1_0 = fma(repeated_1, b_part, sum_1_0);
            sum_1_1 = fma(repeated_1, b_part_1, sum_1_1);
            const float4 repeated_2 = (float4)(a_part.s2);
            sum_2_0 = fma(repeated_2, b_part, sum_2_0);
            sum_2_1 = fma(repeated_2, b_part_1, sum_2_1);
            const float4 repeated_3 = (float4)(a_part.s3);
            sum_3_0 = fma(repeated_3, b_part, sum_3_0);
            sum_3_1 = fma(repeated_3, b_part_1, sum_3_1);
            const float4 repeated_4 = (float4)(a_part_1.s0);
            sum_4_0 = fma(repeated_4, b_part, sum_4_0);
            sum_4_1 = fma(repeated_4, b_part_1, sum_4_1);
            const float4 repeated_5 = (float4)(a_part_1.s1);
            sum_5_0 = fma(repeated_5, b_part, sum_5_0);
            sum_5_1 = fma(repeated_5, b_part_1, sum_5_1);
            const float4 repeated_6 = (float4)(a_part_1.s2);
            sum_6_0 = fma(repeated_6, b_part, sum_6_0);
            sum_6_1 = fma(repeated_6, b_part_1, sum_6_1);
            const float4 repeated_7 = (float4)(a_part_1.s3);
            sum_7_0 = fma(repeated_7, b_part, sum_7_0);
            sum_7_1 = fma(repeated_7, b_part_1, sum_7_1);
        }
        if (is_less_5) {
            const uint product_16 = (sum_21 & 1) * 1600;
            const uint sum_32 = a_to + product_16;
            stage[sum_32] = a_held.s0;
            stage[sum_32 + 68] = a_held.s1;
            stage[sum_32 + 136] = a_held.s2;
            stage[sum_32 + 204] = a_held.s3;
            const uint sum_36 = b_to + product_16;
            stage[sum_36] = b_held.s0;
            stage[sum_36 + 132] = b_held.s1;
            stage[sum_36 + 264] = b_held.s2;
            stage[sum_36 + 396] = b_held.s3;
            const uint sum_40 = b_to_1 + product_16;
            stage[sum_40] = b_held_1.s0;
            stage[sum_40 + 132] = b_held_1.s1;
            stage[sum_40 + 264] = b_held_1.s2;
            stage[sum_40 + 396] = b_held_1.s3;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 2; ++band) {
        if (band == 0) {
            const uint sum_44 = band_row * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_44, sum_0_0);
            STORE_LOCAL(float4, stage + (sum_44 + 32), sum_0_1);
            const uint sum_47 = (band_row + 1) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_47, sum_1_0);
            STORE_LOCAL(float4, stage + (sum_47 + 32), sum_1_1);
            const uint sum_50 = (band_row + 2) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_50, sum_2_0);
            STORE_LOCAL(float4, stage + (sum_50 + 32), sum_2_1);
            const uint sum_53 = (band_row + 3) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_53, sum_3_0);
            STORE_LOCAL(float4, stage + (sum_53 + 32), sum_3_1);
        }
        if (band == 1) {
            const uint sum_55 = band_row * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_55, sum_4_0);
            STORE_LOCAL(float4, stage + (sum_55 + 32), sum_4_1);
            const uint sum_58 = (band_row + 1) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_58, sum_5_0);
            STORE_LOCAL(float4, stage + (sum_58 + 32), sum_5_1);
            const uint sum_61 = (band_row + 2) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_61, sum_6_0);
            STORE_LOCAL(float4, stage + (sum_61 + 32), sum_6_1);
            const uint sum_64 = (band_row + 3) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_64, sum_7_0);
            STORE_LOCAL(float4, stage + (sum_64 + 32), sum_7_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_25 = band * 16;
        for (uint unit = item; unit < 1024; unit += 128) {
            const uint quotient_18 = unit / 32;
            const uint product_26 = unit % 32 * 4;
            const float4 stage_value = LOAD_LOCAL(float4, stage + (quotient_18 * 136 + product_26));
            const uint sum_69 = row + quotient_18 / 16 * 32 + product_25 + quotient_18 % 16;
            const uint sum_70 = column + product_26;
            if (sum_69 < m && sum_70 < n) {
                const uint quotient_20 = sum_70 / 4;
                const float c_i = c[0];
                const float4 sum_71 = stage_value + c_i;
                const float4 repeated_9 = (float4)(s0);
                const uint y_index = quotient_3 * y_stride0 + i0 * y_stride1 + sum_69 * y_stride2 + quotient_20;
                STORE(float4, y + y_index * 4, select(repeated_9, sum_71, (sum_71 > repeated_9) | isnan(sum_71)));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
