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
                          const uint b_stride3,
                          const uint b_stride4,
                          const uint b_length5,
                          const uint b_place0_first,
                          const uint b_end0,
                          const uint b_place1_first,
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
    const uint rest_4 = item % 128;
    const uint b_k = item / 128;
    const uint b_to = b_k * 132 + rest_4 + 544;
    const uint sum_4 = column + rest_4;
    const uint difference_3 = n - 1;
    const uint smaller_2 = min(sum_4, difference_3);
    const uint rest_5 = smaller_2 % b_length5;
    const uint quotient_5 = smaller_2 / b_length5;
    const uint b_place0_index = b_place0_first + quotient_5;
    const uint b_place1_index = b_place1_first + rest_5;
    const uint b_row_3 = b_first + i0 * b_stride0 + quotient_5 * b_stride4;
    const uint b_k_1 = b_k + 1;
    const uint b_to_1 = b_k_1 * 132 + rest_4 + 544;
    const uint b_k_2 = b_k + 2;
    const uint b_to_2 = b_k_2 * 132 + rest_4 + 544;
    const uint b_k_3 = b_k + 3;
    const uint b_to_3 = b_k_3 * 132 + rest_4 + 544;
    const uint b_k_4 = b_k + 4;
    const uint b_to_4 = b_k_4 * 132 + rest_4 + 544;
    const uint b_k_5 = b_k + 5;
    const uint b_to_5 = b_k_5 * 132 + rest_4 + 544;
    const uint b_k_6 = b_k + 6;
    const uint b_to_6 = b_k_6 * 132 + rest_4 + 544;
    const uint b_k_7 = b_k + 7;
    const uint b_to_7 = b_k_7 * 132 + rest_4 + 544;
    const uint shr_value = item >> 5;
    const uint and_value = item & 31;
    const uint quotient_6 = shr_value / 2;
    const uint product_14 = ((and_value >> 4) * 2 + (and_value & 1)) * 4;
    const uint own_row = quotient_6 * 32 + product_14;
    const uint own_column = shr_value % 2 * 64 + ((and_value >> 1) & 7) * 4;
    const uint band_row = quotient_6 * 16 + product_14;
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
    float b_held = 0.0f;
    float b_held_1 = 0.0f;
    float b_held_2 = 0.0f;
    float b_held_3 = 0.0f;
    float b_held_4 = 0.0f;
    float b_held_5 = 0.0f;
    float b_held_6 = 0.0f;
    float b_held_7 = 0.0f;
    if (a_k < ragged) {
        const float4 a_i = LOAD(float4, a + (a_row_2 + (begin + a_k) / 4) * 4);
        a_held = a_i;
    }
    b_held = 0.0f;
    const uint sum_14 = begin + b_k;
    const uint rest_7 = sum_14 % 3;
    const uint quotient_8 = sum_14 / 3;
    const uint rest_8 = quotient_8 % 3;
    const uint quotient_9 = quotient_8 / 3;
    const bool and_value_3 = b_place0_index + rest_8 < b_end0 && b_place1_index + rest_7 < b_end1;
    if (b_k < ragged && and_value_3) {
        const uint b_row_9 = b_row_3 + quotient_9 * b_stride1 + rest_8 * b_stride2 + rest_7 * b_stride3;
        const float b_i = b[b_row_9 + rest_5];
        b_held = b_i;
    }
    b_held_1 = 0.0f;
    const uint sum_15 = begin + b_k_1;
    const uint rest_9 = sum_15 % 3;
    const uint quotient_10 = sum_15 / 3;
    const uint rest_10 = quotient_10 % 3;
    const uint quotient_11 = quotient_10 / 3;
    const bool and_value_5 = b_place0_index + rest_10 < b_end0 && b_place1_index + rest_9 < b_end1;
    if (b_k_1 < ragged && and_value_5) {
        const uint b_row_15 = b_row_3 + quotient_11 * b_stride1 + rest_10 * b_stride2 + rest_9 * b_stride3;
        const float b_i_1 = b[b_row_15 + rest_5];
        b_held_1 = b_i_1;
    }
    b_held_2 = 0.0f;
    const uint sum_16 = begin + b_k_2;
    const uint rest_11 = sum_16 % 3;
    const uint quotient_12 = sum_16 / 3;
    const uint rest_12 = quotient_12 % 3;
    const uint quotient_13 = quotient_12 / 3;
    const bool and_value_7 = b_place0_index + rest_12 < b_end0 && b_place1_index + rest_11 < b_end1;
    if (b_k_2 < ragged && and_value_7) {
        const uint b_row_21 = b_row_3 + quotient_13 * b_stride1 + rest_12 * b_stride2 + rest_11 * b_stride3;
        const float b_i_2 = b[b_row_21 + rest_5];
        b_held_2 = b_i_2;
    }
    b_held_3 = 0.0f;
    const uint sum_17 = begin + b_k_3;
    const uint rest_13 = sum_17 % 3;
    const uint quotient_14 = sum_17 / 3;
    const uint rest_14 = quotient_14 % 3;
    const uint quotient_15 = quotient_14 / 3;
    const bool and_value_9 = b_place0_index + rest_14 < b_end0 && b_place1_index + rest_13 < b_end1;
    if (b_k_3 < ragged && and_value_9) {
        const uint b_row_27 = b_row_3 + quotient_15 * b_stride1 + rest_14 * b_stride2 + rest_13 * b_stride3;
        const float b_i_3 = b[b_row_27 + rest_5];
        b_held_3 = b_i_3;
    }
    b_held_4 = 0.0f;
    const uint sum_18 = begin + b_k_4;
    const uint rest_15 = sum_18 % 3;
    const uint quotient_16 = sum_18 / 3;
    const uint rest_16 = quotient_16 % 3;
    const uint quotient_17 = quotient_16 / 3;
    const bool and_value_11 = b_place0_index + rest_16 < b_end0 && b_place1_index + rest_15 < b_end1;
    if (b_k_4 < ragged && and_value_11) {
        const uint b_row_33 = b_row_3 + quotient_17 * b_stride1 + rest_16 * b_stride2 + rest_15 * b_stride3;
        const float b_i_4 = b[b_row_33 + rest_5];
        b_held_4 = b_i_4;
    }
    b_held_5 = 0.0f;
    const uint sum_19 = begin + b_k_5;
    const uint rest_17 = sum_19 % 3;
    const uint quotient_18 = sum_19 / 3;
    const uint rest_18 = quotient_18 % 3;
    const uint quotient_19 = quotient_18 / 3;
    const bool and_value_13 = b_place0_index + rest_18 < b_end0 && b_place1_index + rest_17 < b_end1;
    if (b_k_5 < ragged && and_value_13) {
        const uint b_row_39 = b_row_3 + quotient_19 * b_stride1 + rest_18 * b_stride2 + rest_17 * b_stride3;
        const float b_i_5 = b[b_row_39 + rest_5];
        b_held_5 = b_i_5;
    }
    b_held_6 = 0.0f;
    const uint sum_20 = begin + b_k_6;
    const uint rest_19 = sum_20 % 3;
    const uint quotient_20 = sum_20 / 3;
    const uint rest_20 = quotient_20 % 3;
    const uint quotient_21 = quotient_20 / 3;
    const bool and_value_15 = b_place0_index + rest_20 < b_end0 && b_place1_index + rest_19 < b_end1;
    if (b_k_6 < ragged && and_value_15) {
        const uint b_row_45 = b_row_3 + quotient_21 * b_stride1 + rest_20 * b_stride2 + rest_19 * b_stride3;
        const float b_i_6 = b[b_row_45 + rest_5];
        b_held_6 = b_i_6;
    }
    b_held_7 = 0.0f;
    const uint sum_21 = begin + b_k_7;
    const uint rest_21 = sum_21 % 3;
    const uint quotient_22 = sum_21 / 3;
    const uint rest_22 = quotient_22 % 3;
    const uint quotient_23 = quotient_22 / 3;
    const bool and_value_17 = b_place0_index + rest_22 < b_end0 && b_place1_index + rest_21 < b_end1;
    if (b_k_7 < ragged && and_value_17) {
        const uint b_row_51 = b_row_3 + quotient_23 * b_stride1 + rest_22 * b_stride2 + rest_21 * b_stride3;
        const float b_i_7 = b[b_row_51 + rest_5];
        b_held_7 = b_i_7;
    }
    stage[a_to] = a_held.s0;
    stage[a_to + 68] = a_held.s1;
    stage[a_to + 136] = a_held.s2;
    stage[a_to + 204] = a_held.s3;
    stage[b_to] = b_held;
    stage[b_to_1] = b_held_1;
    stage[b_to_2] = b_held_2;
    stage[b_to_3] = b_held_3;
    stage[b_to_4] = b_held_4;
    stage[b_to_5] = b_held_5;
    stage[b_to_6] = b_held_6;
    stage[b_to_7] = b_held_7;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum_25 = own_column + 544;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_26 = step_1 + 1;
        const bool is_less_25 = sum_26 < steps;
        if (is_less_25) {
            const uint next = begin + ragged + step_1 * 8;
            const float4 a_i_1 = LOAD(float4, a + (a_row_2 + (next + a_k) / 4) * 4);
            a_held = a_i_1;
            b_held = 0.0f;
            const uint sum_29 = next + b_k;
            const uint rest_23 = sum_29 % 3;
            const uint quotient_25 = sum_29 / 3;
            const uint rest_24 = quotient_25 % 3;
            const uint quotient_26 = quotient_25 / 3;
            if (b_place0_index + rest_24 < b_end0 && b_place1_index + rest_23 < b_end1) {
                const uint b_row_57 = b_row_3 + quotient_26 * b_stride1 + rest_24 * b_stride2 + rest_23 * b_stride3;
                const float b_i_8 = b[b_row_57 + rest_5];
                b_held = b_i_8;
            }
            b_held_1 = 0.0f;
            const uint sum_30 = next + b_k_1;
            const uint rest_25 = sum_30 % 3;
            const uint quotient_27 = sum_30 / 3;
            const uint rest_26 = quotient_27 % 3;
            const uint quotient_28 = quotient_27 / 3;
            if (b_place0_index + rest_26 < b_end0 && b_place1_index + rest_25 < b_end1) {
                const uint b_row_63 = b_row_3 + quotient_28 * b_stride1 + rest_26 * b_stride2 + rest_25 * b_stride3;
                const float b_i_9 = b[b_row_63 + rest_5];
                b_held_1 = b_i_9;
            }
            b_held_2 = 0.0f;
            const uint sum_31 = next + b_k_2;
            const uint rest_27 = sum_31 % 3;
            const uint quotient_29 = sum_31 / 3;
            const uint rest_28 = quotient_29 % 3;
            const uint quotient_30 = quotient_29 / 3;
            if (b_place0_index + rest_28 < b_end0 && b_place1_index + rest_27 < b_end1) {
                const uint b_row_69 = b_row_3 + quotient_30 * b_stride1 + rest_28 * b_stride2 + rest_27 * b_stride3;
                const float b_i_10 = b[b_row_69 + rest_5];
                b_held_2 = b_i_10;
            }
            b_held_3 = 0.0f;
            const uint sum_32 = next + b_k_3;
            const uint rest_29 = sum_32 % 3;
            const uint quotient_31 = sum_32 / 3;
            const uint rest_30 = quotient_31 % 3;
            const uint quotient_32 = quotient_31 / 3;
            if (b_place0_index + rest_30 < b_end0 && b_place1_index + rest_29 < b_end1) {
                const uint b_row_75 = b_row_3 + quotient_32 * b_stride1 + rest_30 * b_stride2 + rest_29 * b_stride3;
                const float b_i_11 = b[b_row_75 + rest_5];
                b_held_3 = b_i_11;
            }
            b_held_4 = 0.0f;
            const uint sum_33 = next + b_k_4;
            const uint rest_31 = sum_33 % 3;
            const uint quotient_33 = sum_33 / 3;
            const uint rest_32 = quotient_33 % 3;
            const uint quotient_34 = quotient_33 / 3;
            if (b_place0_index + rest_32 < b_end0 && b_place1_index + rest_31 < b_end1) {
                const uint b_row_81 = b_row_3 + quotient_34 * b_stride1 + rest_32 * b_stride2 + rest_31 * b_stride3;
                const float b_i_12 = b[b_row_81 + rest_5];
                b_held_4 = b_i_12;
            }
            b_held_5 = 0.0f;
            const uint sum_34 = next + b_k_5;
            const uint rest_33 = sum_34 % 3;
            const uint quotient_35 = sum_34 / 3;
            const uint rest_34 = quotient_35 % 3;
            const uint quotient_36 = quotient_35 / 3;
            if (b_place0_index + rest_34 < b_end0 && b_place1_index + rest_33 < b_end1) {
                const uint b_row_87 = b_row_3 + quotient_36 * b_stride1 + rest_34 * b_stride2 + rest_33 * b_stride3;
                const float b_i_13 = b[b_row_87 + rest_5];
                b_held_5 = b_i_13;
            }
            b_held_6 = 0.0f;
            const uint sum_35 = next + b_k_6;
            const uint rest_35 = sum_35 % 3;
            const uint quotient_37 = sum_35 / 3;
            const uint rest_36 = quotient_37 % 3;
            const uint quotient_38 = quotient_37 / 3;
            if (b_place0_index + rest_36 < b_end0 && b_place1_index + rest_35 < b_end1) {
                const uint b_row_93 = b_row_3 + quotient_38 * b_stride1 + rest_36 * b_stride2 + rest_35 * b_stride3;
                const float b_i_14 = b[b_row_93 + rest_5];
                b_held_6 = b_i_14;
            }
            b_held_7 = 0.0f;
            const uint sum_36 = next + b_k_7;
            const uint rest_37 = sum_36 % 3;
            const uint quotient_39 = sum_36 / 3;
            const uint rest_38 = quotient_39 % 3;
            const uint quotient_40 = quotient_39 / 3;
            if (b_place0_index + rest_38 < b_end0 && b_place1_index + rest_37 < b_end1) {
                const uint b_row_99 = b_row_3 + quotient_40 * b_stride1 + rest_38 * b_stride2 + rest_37 * b_stride3;
                const float b_i_15 = b[b_row_99 + rest_5];
                b_held_7 = b_i_15;
            }
        }
        const uint product_20 = (step_1 & 1) * 1600;
        const ulong a_at = (ulong)(product_20 + own_row);
        const ulong b_at = (ulong)(product_20 + sum_25);
        #pragma unroll 8
        for (ulong i = 0; i < 8; ++i) {
            const ulong product_21 = i * 68;
            const float4 a_part = LOAD_LOCAL(float4, stage + (a_at + product_21));
            const float4 a_part_1 = LOAD_LOCAL(float4, stage + (a_at + (product_21 + 16)));
            const ulong product_22 = i * 132;
            const float4 b_part = LOAD_LOCAL(float4, stage + (b_at + product_22));
            const float4 b_part_1 = LOAD_LOCAL(float4, stage + (b_at + (product_22 + 32)));
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
        if (is_less_25) {
            const uint product_23 = (sum_26 & 1) * 1600;
            const uint sum_45 = a_to + product_23;
            stage[sum_45] = a_held.s0;
            stage[sum_45 + 68] = a_held.s1;
            stage[sum_45 + 136] = a_held.s2;
            stage[sum_45 + 204] = a_held.s3;
            stage[b_to + product_23] = b_held;
            stage[b_to_1 + product_23] = b_held_1;
            stage[b_to_2 + product_23] = b_held_2;
            stage[b_to_3 + product_23] = b_held_3;
            stage[b_to_4 + product_23] = b_held_4;
            stage[b_to_5 + product_23] = b_held_5;
            stage[b_to_6 + product_23] = b_held_6;
            stage[b_to_7 + product_23] = b_held_7;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 2; ++band) {
        if (band == 0) {
            const uint sum_57 = band_row * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_57, sum_0_0);
            STORE_LOCAL(float4, stage + (sum_57 + 32), sum_0_1);
            const uint sum_60 = (band_row + 1) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_60, sum_1_0);
            STORE_LOCAL(float4, stage + (sum_60 + 32), sum_1_1);
            const uint sum_63 = (band_row + 2) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_63, sum_2_0);
            STORE_LOCAL(float4, stage + (sum_63 + 32), sum_2_1);
            const uint sum_66 = (band_row + 3) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_66, sum_3_0);
            STORE_LOCAL(float4, stage + (sum_66 + 32), sum_3_1);
        }
        if (band == 1) {
            const uint sum_68 = band_row * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_68, sum_4_0);
            STORE_LOCAL(float4, stage + (sum_68 + 32), sum_4_1);
            const uint sum_71 = (band_row + 1) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_71, sum_5_0);
            STORE_LOCAL(float4, stage + (sum_71 + 32), sum_5_1);
            const uint sum_74 = (band_row + 2) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_74, sum_6_0);
            STORE_LOCAL(float4, stage + (sum_74 + 32), sum_6_1);
            const uint sum_77 = (band_row + 3) * 136 + own_column;
            STORE_LOCAL(float4, stage + sum_77, sum_7_0);
            STORE_LOCAL(float4, stage + (sum_77 + 32), sum_7_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_32 = band * 16;
        for (uint unit = item; unit < 1024; unit += 128) {
            const uint quotient_41 = unit / 32;
            const uint product_33 = unit % 32 * 4;
            const float4 stage_value = LOAD_LOCAL(float4, stage + (quotient_41 * 136 + product_33));
            const uint sum_82 = row + quotient_41 / 16 * 32 + product_32 + quotient_41 % 16;
            const uint sum_83 = column + product_33;
            if (sum_82 < m && sum_83 < n) {
                const uint quotient_43 = sum_83 / 4;
                const float c_i = c[0];
                const float4 sum_84 = stage_value + c_i;
                const float4 repeated_9 = (float4)(s0);
                const uint y_index = quotient_3 * y_stride0 + i0 * y_stride1 + sum_82 * y_stride2 + quotient_43;
                STORE(float4, y + y_index * 4, select(repeated_9, sum_84, (sum_84 > repeated_9) | isnan(sum_84)));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
