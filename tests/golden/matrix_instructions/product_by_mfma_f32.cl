/* y = a @ b    f32, in f32, by matrix instructions, tiles of 128 x 128 x 16 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* A 16 x 4 matrix times a 4 x 16 one is added to sums. */
static inline float4 mfma_f32(const float a, const float b, const float4 sums)
{
    return __builtin_amdgcn_mfma_f32_16x16x4f32((a), (b), sums, 0, 0, 0);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void contract(const uint m,
              const uint n,
              const uint k,
              const uint matrices,
              __global const float *restrict a_buffer,
              const ulong a_offset,
              const uint a_stride0,
              __global const float *restrict b_buffer,
              const ulong b_offset,
              const uint b_stride0,
              const uint per,
              const uint tiles_down,
              const uint tiles_across,
              const uint raster,
              __global float *restrict y_buffer,
              const ulong y_offset,
              const uint y_stride0,
              const uint y_stride1)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint item = get_local_id(0);
    __local float stage[8704] __attribute__((aligned(32)));
    const uint product = tiles_down * tiles_across;
    const uint rest = group % product;
    const uint quotient = group / product;
    const uint product_1 = raster * tiles_across;
    const uint product_2 = rest / product_1 * raster;
    const uint rest_1 = rest % product_1;
    const uint difference = tiles_down - product_2;
    const uint smaller = min(difference, raster);
    const uint row = (product_2 + rest_1 % smaller) * 128;
    const uint column = rest_1 / smaller * 128;
    const uint begin = quotient * per;
    const uint difference_1 = k - begin;
    const uint count = min(difference_1, per);
    const uint steps = (count + 15) / 16;
    const uint quotient_3 = item / 4;
    const uint a_k = item % 4 * 4;
    const uint rest_4 = a_k % 16;
    const uint product_5 = quotient_3 * 4;
    const uint sum_3 = (a_k / 16 * 4 + rest_4 / 4) * 516 + product_5;
    const uint a_to = sum_3 + rest_4 % 4;
    const uint sum_4 = row + quotient_3;
    const uint difference_2 = m - 1;
    const uint a_row = min(sum_4, difference_2) * a_stride0;
    const uint sum_5 = item + 256;
    const uint quotient_6 = sum_5 / 4;
    const uint a_k_1 = sum_5 % 4 * 4;
    const uint rest_7 = a_k_1 % 16;
    const uint product_8 = quotient_6 * 4;
    const uint sum_7 = (a_k_1 / 16 * 4 + rest_7 / 4) * 516 + product_8;
    const uint a_to_1 = sum_7 + rest_7 % 4;
    const uint sum_8 = row + quotient_6;
    const uint a_row_1 = min(sum_8, difference_2) * a_stride0;
    const uint b_k = item / 32;
    const uint product_9 = item % 32 * 4;
    const uint rest_10 = b_k % 16;
    const uint sum_9 = rest_10 % 4 * 4 + rest_10 / 4;
    const uint b_to = (b_k / 16 * 16 + sum_9) * 136 + product_9 + 2064;
    const uint sum_12 = column + product_9;
    const uint difference_3 = n - 4;
    const uint quotient_11 = min(sum_12, difference_3) / 4;
    const uint b_k_1 = sum_5 / 32;
    const uint product_13 = sum_5 % 32 * 4;
    const uint rest_13 = b_k_1 % 16;
    const uint sum_13 = rest_13 % 4 * 4 + rest_13 / 4;
    const uint b_to_1 = (b_k_1 / 16 * 16 + sum_13) * 136 + product_13 + 2064;
    const uint sum_16 = column + product_13;
    const uint quotient_14 = min(sum_16, difference_3) / 4;
    const uint shr_value = item >> 6;
    const uint and_value = item & 63;
    const uint quotient_15 = shr_value / 2;
    const uint own_row = quotient_15 * 64;
    const uint own_column = shr_value % 2 * 64;
    float4 sum_0_0 = (float4)(0.0f);
    float4 sum_0_1 = (float4)(0.0f);
    float4 sum_0_2 = (float4)(0.0f);
    float4 sum_0_3 = (float4)(0.0f);
    float4 sum_1_0 = (float4)(0.0f);
    float4 sum_1_1 = (float4)(0.0f);
    float4 sum_1_2 = (float4)(0.0f);
    float4 sum_1_3 = (float4)(0.0f);
    float4 sum_2_0 = (float4)(0.0f);
    float4 sum_2_1 = (float4)(0.0f);
    float4 sum_2_2 = (float4)(0.0f);
    float4 sum_2_3 = (float4)(0.0f);
    float4 sum_3_0 = (float4)(0.0f);
    float4 sum_3_1 = (float4)(0.0f);
    float4 sum_3_2 = (float4)(0.0f);
    float4 sum_3_3 = (float4)(0.0f);
    const uint ragged = count - (steps - 1) * 16;
    float4 a_held = (float4)(0.0f);
    float4 a_held_1 = (float4)(0.0f);
    float4 b_held = (float4)(0.0f);
    float4 b_held_1 = (float4)(0.0f);
    if (a_k < ragged) {
        const float4 a_i = LOAD(float4, a + (a_row + (begin + a_k) / 4) * 4);
        a_held = a_i;
    }
    if (a_k_1 < ragged) {
        const float4 a_i_1 = LOAD(float4, a + (a_row_1 + (begin + a_k_1) / 4) * 4);
        a_held_1 = a_i_1;
    }
    if (b_k < ragged) {
        const float4 b_i = LOAD(float4, b + ((begin + b_k) * b_stride0 + quotient_11) * 4);
        b_held = b_i;
    }
    if (b_k_1 < ragged) {
        const float4 b_i_1 = LOAD(float4, b + ((begin + b_k_1) * b_stride0 + quotient_14) * 4);
        b_held_1 = b_i_1;
    }
    STORE_LOCAL(float4, stage + a_to, a_held);
    STORE_LOCAL(float4, stage + a_to_1, a_held_1);
    STORE_LOCAL(float4, stage + b_to, b_held);
    STORE_LOCAL(float4, stage + b_to_1, b_held_1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint and_value_1 = and_value & 15;
    const uint shr_value_1 = and_value >> 4;
    const uint sum_22 = (own_row + and_value_1) * 4 + shr_value_1 * 516;
    const uint sum_24 = own_column + and_value_1 * 4 + shr_value_1 * 136;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_25 = step_1 + 1;
        const bool is_less_4 = sum_25 < steps;
        if (is_less_4) {
            const uint next = begin + ragged + step_1 * 16;
            const float4 a_i_2 = LOAD(float4, a + (a_row + (next + a_k) / 4) * 4);
            a_held = a_i_2;
            const float4 a_i_3 = LOAD(float4, a + (a_row_1 + (next + a_k_1) / 4) * 4);
            a_held_1 = a_i_3;
            const float4 b_i_2 = LOAD(float4, b + ((next + b_k) * b_stride0 + quotient_11) * 4);
            b_held = b_i_2;
            const float4 b_i_3 = LOAD(float4, b + ((next + b_k_1) * b_stride0 + quotient_14) * 4);
            b_held_1 = b_i_3;
        }
        const uint product_23 = (step_1 & 1) * 4240;
        const ulong a_at = (ulong)(product_23 + sum_22);
        const ulong b_at = (ulong)(product_23 + 2064 + sum_24);
        const float4 b_part = LOAD_LOCAL(float4, stage + b_at);
        const float lane = b_part.s0;
        const float lane_1 = b_part.s1;
        const float lane_2 = b_part.s2;
        const float lane_3 = b_part.s3;
        const float4 b_part_1 = LOAD_LOCAL(float4, stage + (b_at + 544));
        const float lane_4 = b_part_1.s0;
        const float lane_5 = b_part_1.s1;
        const float lane_6 = b_part_1.s2;
        const float lane_7 = b_part_1.s3;
        const float4 b_part_2 = LOAD_LOCAL(float4, stage + (b_at + 1088));
        const float lane_8 = b_part_2.s0;
        const float lane_9 = b_part_2.s1;
        const float lane_10 = b_part_2.s2;
        const float lane_11 = b_part_2.s3;
        const float4 b_part_3 = LOAD_LOCAL(float4, stage + (b_at + 1632));
        const float lane_12 = b_part_3.s0;
        const float lane_13 = b_part_3.s1;
        const float lane_14 = b_part_3.s2;
        const float lane_15 = b_part_3.s3;
        const float4 a_part = LOAD_LOCAL(float4, stage + a_at);
        const float lane_16 = a_part.s0;
        const float lane_17 = a_part.s1;
        const float lane_18 = a_part.s2;
        const float lane_19 = a_part.s3;
        const float4 a_part_1 = LOAD_LOCAL(float4, stage + (a_at + 64));
        const float lane_20 = a_part_1.s0;
        const float lane_21 = a_part_1.s1;
        const float lane_22 = a_part_1.s2;
        const float lane_23 = a_part_1.s3;
        const float4 sums = mfma_f32(lane_16, lane, sum_0_0);
        sum_0_0 = sums;
        const float4 sums_1 = mfma_f32(lane_16, lane_1, sum_0_1);
        sum_0_1 = sums_1;
        const float4 sums_2 = mfma_f32(lane_16, lane_2, sum_0_2);
        sum_0_2 = sums_2;
        const float4 sums_3 = mfma_f32(lane_16, lane_3, sum_0_3);
        sum_0_3 = sums_3;
        const float4 sums_4 = mfma_f32(lane_17, lane_4, sum_0_0);
        sum_0_0 = sums_4;
        const float4 sums_5 = mfma_f32(lane_17, lane_5, sum_0_1);
        sum_0_1 = sums_5;
        const float4 sums_6 = mfma_f32(lane_17, lane_6, sum_0_2);
        sum_0_2 = sums_6;
        const float4 sums_7 = mfma_f32(lane_17, lane_7, sum_0_3);
        sum_0_3 = sums_7;
        const float4 sums_8 = mfma_f32(lane_18, lane_8, sum_0_0);
        sum_0_0 = sums_8;
        const float4 sums_9 = mfma_f32(lane_18, lane_9, sum_0_1);
        sum_0_1 = sums_9;
        const float4 sums_10 = mfma_f32(lane_18, lane_10, sum_0_2);
        sum_0_2 = sums_10;
        const float4 sums_11 = mfma_f32(lane_18, lane_11, sum_0_3);
        sum_0_3 = sums_11;
        const float4 sums_12 = mfma_f32(lane_19, lane_12, sum_0_0);
        sum_0_0 = sums_12;
        const float4 sums_13 = mfma_f32(lane_19, lane_13, sum_0_1);
        sum_0_1 = sums_13;
        const float4 sums_14 = mfma_f32(lane_19, lane_14, sum_0_2);
        sum_0_2 = sums_14;
        const float4 sums_15 = mfma_f32(lane_19, lane_15, sum_0_3);
        sum_0_3 = sums_15;
        const float4 sums_16 = mfma_f32(lane_20, lane, sum_1_0);
        sum_1_0 = sums_16;
        const float4 sums_17 = mfma_f32(lane_20, lane_1, sum_1_1);
        sum_1_1 = sums_17;
        const float4 sums_18 = mfma_f32(lane_20, lane_2, sum_1_2);
        sum_1_2 = sums_18;
        const float4 sums_19 = mfma_f32(lane_20, lane_3, sum_1_3);
        sum_1_3 = sums_19;
        const float4 sums_20 = mfma_f32(lane_21, lane_4, sum_1_0);
        sum_1_0 = sums_20;
        const float4 sums_21 = mfma_f32(lane_21, lane_5, sum_1_1);
        sum_1_1 = sums_21;
        const float4 sums_22 = mfma_f32(lane_21, lane_6, sum_1_2);
        sum_1_2 = sums_22;
        const float4 sums_23 = mfma_f32(lane_21, lane_7, sum_1_3);
        sum_1_3 = sums_23;
        const float4 sums_24 = mfma_f32(lane_22, lane_8, sum_1_0);
        sum_1_0 = sums_24;
        const float4 sums_25 = mfma_f32(lane_22, lane_9, sum_1_1);
        sum_1_1 = sums_25;
        const float4 sums_26 = mfma_f32(lane_22, lane_10, sum_1_2);
        sum_1_2 = sums_26;
        const float4 sums_27 = mfma_f32(lane_22, lane_11, sum_1_3);
        sum_1_3 = sums_27;
        const float4 sums_28 = mfma_f32(lane_23, lane_12, sum_1_0);
        sum_1_0 = sums_28;
        const float4 sums_29 = mfma_f32(lane_23, lane_13, sum_1_1);
        sum_1_1 = sums_29;
        const float4 sums_30 = mfma_f32(lane_23, lane_14, sum_1_2);
        sum_1_2 = sums_30;
        const float4 sums_31 = mfma_f32(lane_23, lane_15, sum_1_3);
        sum_1_3 = sums_31;
        const float4 a_part_2 = LOAD_LOCAL(float4, stage + (a_at + 128));
        const float lane_24 = a_part_2.s0;
        const float lane_25 = a_part_2.s1;
        const float lane_26 = a_part_2.s2;
        const float lane_27 = a_part_2.s3;
        const float4 a_part_3 = LOAD_LOCAL(float4, stage + (a_at + 192));
        const float lane_28 = a_part_3.s0;
        const float lane_29 = a_part_3.s1;
        const float lane_30 = a_part_3.s2;
        const float lane_31 = a_part_3.s3;
        const float4 sums_32 = mfma_f32(lane_24, lane, sum_2_0);
        sum_2_0 = sums_32;
        const float4 sums_33 = mfma_f32(lane_24, lane_1, sum_2_1);
        sum_2_1 = sums_33;
        const float4 sums_34 = mfma_f32(lane_24, lane_2, sum_2_2);
        sum_2_2 = sums_34;
        const float4 sums_35 = mfma_f32(lane_24, lane_3, sum_2_3);
        sum_2_3 = sums_35;
        const float4 sums_36 = mfma_f32(lane_25, lane_4, sum_2_0);
        sum_2_0 = sums_36;
        const float4 sums_37 = mfma_f32(lane_25, lane_5, sum_2_1);
        sum_2_1 = sums_37;
        const float4 sums_38 = mfma_f32(lane_25, lane_6, sum_2_2);
        sum_2_2 = sums_38;
        const float4 sums_39 = mfma_f32(lane_25, lane_7, sum_2_3);
        sum_2_3 = sums_39;
        const float4 sums_40 = mfma_f32(lane_26, lane_8, sum_2_0);
        sum_2_0 = sums_40;
        const float4 sums_41 = mfma_f32(lane_26, lane_9, sum_2_1);
        sum_2_1 = sums_41;
        const float4 sums_42 = mfma_f32(lane_26, lane_10, sum_2_2);
        sum_2_2 = sums_42;
        const float4 sums_43 = mfma_f32(lane_26, lane_11, sum_2_3);
        sum_2_3 = sums_43;
        const float4 sums_44 = mfma_f32(lane_27, lane_12, sum_2_0);
        sum_2_0 = sums_44;
        const float4 sums_45 = mfma_f32(lane_27, lane_13, sum_2_1);
        sum_2_1 = sums_45;
        const float4 sums_46 = mfma_f32(lane_27, lane_14, sum_2_2);
        sum_2_2 = sums_46;
        const float4 sums_47 = mfma_f32(lane_27, lane_15, sum_2_3);
        sum_2_3 = sums_47;
        const float4 sums_48 = mfma_f32(lane_28, lane, sum_3_0);
        sum_3_0 = sums_48;
        const float4 sums_49 = mfma_f32(lane_28, lane_1, sum_3_1);
        sum_3_1 = sums_49;
        const float4 sums_50 = mfma_f32(lane_28, lane_2, sum_3_2);
        sum_3_2 = sums_50;
        const float4 sums_51 = mfma_f32(lane_28, lane_3, sum_3_3);
        sum_3_3 = sums_51;
        const float4 sums_52 = mfma_f32(lane_29, lane_4, sum_3_0);
        sum_3_0 = sums_52;
        const float4 sums_53 = mfma_f32(lane_29, lane_5, sum_3_1);
        sum_3_1 = sums_53;
        const float4 sums_54 = mfma_f32(lane_29, lane_6, sum_3_2);
        sum_3_2 = sums_54;
        const float4 sums_55 = mfma_f32(lane_29, lane_7, sum_3_3);
        sum_3_3 = sums_55;
        const float4 sums_56 = mfma_f32(lane_30, lane_8, sum_3_0);
        sum_3_0 = sums_56;
        const float4 sums_57 = mfma_f32(lane_30, lane_9, sum_3_1);
        sum_3_1 = sums_57;
        const float4 sums_58 = mfma_f32(lane_30, lane_10, sum_3_2);
        sum_3_2 = sums_58;
        const float4 sums_59 = mfma_f32(lane_30, lane_11, sum_3_3);
        sum_3_3 = sums_59;
        const float4 sums_60 = mfma_f32(lane_31, lane_12, sum_3_0);
        sum_3_0 = sums_60;
        const float4 sums_61 = mfma_f32(lane_31, lane_13, sum_3_1);
        sum_3_1 = sums_61;
        const float4 sums_62 = mfma_f32(lane_31, lane_14, sum_3_2);
        sum_3_2 = sums_62;
        const float4 sums_63 = mfma_f32(lane_31, lane_15, sum_3_3);
        sum_3_3 = sums_63;
        if (is_less_4) {
            const uint product_24 = (sum_25 & 1) * 4240;
            STORE_LOCAL(float4, stage + (a_to + product_24), a_held);
            STORE_LOCAL(float4, stage + (a_to_1 + product_24), a_held_1);
            STORE_LOCAL(float4, stage + (b_to + product_24), b_held);
            STORE_LOCAL(float4, stage + (b_to_1 + product_24), b_held_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 2; ++band) {
        if (band == 0) {
            const uint sum_45 = quotient_15 * 4352 + own_column + ((and_value >> 4) & 3) * 544;
            const uint sums_at = sum_45 + (and_value & 15) * 4;
            STORE_LOCAL(float4, stage + sums_at, (float4)(sum_0_0.s0, sum_0_1.s0, sum_0_2.s0, sum_0_3.s0));
            STORE_LOCAL(float4, stage + (sums_at + 136), (float4)(sum_0_0.s1, sum_0_1.s1, sum_0_2.s1, sum_0_3.s1));
            STORE_LOCAL(float4, stage + (sums_at + 272), (float4)(sum_0_0.s2, sum_0_1.s2, sum_0_2.s2, sum_0_3.s2));
            STORE_LOCAL(float4, stage + (sums_at + 408), (float4)(sum_0_0.s3, sum_0_1.s3, sum_0_2.s3, sum_0_3.s3));
            STORE_LOCAL(float4, stage + (sums_at + 2176), (float4)(sum_1_0.s0, sum_1_1.s0, sum_1_2.s0, sum_1_3.s0));
            STORE_LOCAL(float4, stage + (sums_at + 2312), (float4)(sum_1_0.s1, sum_1_1.s1, sum_1_2.s1, sum_1_3.s1));
            STORE_LOCAL(float4, stage + (sums_at + 2448), (float4)(sum_1_0.s2, sum_1_1.s2, sum_1_2.s2, sum_1_3.s2));
            STORE_LOCAL(float4, stage + (sums_at + 2584), (float4)(sum_1_0.s3, sum_1_1.s3, sum_1_2.s3, sum_1_3.s3));
        }
        if (band == 1) {
            const uint sum_54 = quotient_15 * 4352 + own_column + ((and_value >> 4) & 3) * 544;
            const uint sums_at_1 = sum_54 + (and_value & 15) * 4;
            STORE_LOCAL(float4, stage + sums_at_1, (float4)(sum_2_0.s0, sum_2_1.s0, sum_2_2.s0, sum_2_3.s0));
            STORE_LOCAL(float4, stage + (sums_at_1 + 136), (float4)(sum_2_0.s1, sum_2_1.s1, sum_2_2.s1, sum_2_3.s1));
            STORE_LOCAL(float4, stage + (sums_at_1 + 272), (float4)(sum_2_0.s2, sum_2_1.s2, sum_2_2.s2, sum_2_3.s2));
            STORE_LOCAL(float4, stage + (sums_at_1 + 408), (float4)(sum_2_0.s3, sum_2_1.s3, sum_2_2.s3, sum_2_3.s3));
            STORE_LOCAL(float4, stage + (sums_at_1 + 2176), (float4)(sum_3_0.s0, sum_3_1.s0, sum_3_2.s0, sum_3_3.s0));
            STORE_LOCAL(float4, stage + (sums_at_1 + 2312), (float4)(sum_3_0.s1, sum_3_1.s1, sum_3_2.s1, sum_3_3.s1));
            STORE_LOCAL(float4, stage + (sums_at_1 + 2448), (float4)(sum_3_0.s2, sum_3_1.s2, sum_3_2.s2, sum_3_3.s2));
            STORE_LOCAL(float4, stage + (sums_at_1 + 2584), (float4)(sum_3_0.s3, sum_3_1.s3, sum_3_2.s3, sum_3_3.s3));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_31 = band * 32;
        for (uint unit = item; unit < 2048; unit += 256) {
            const uint quotient_20 = unit / 32;
            const uint product_32 = unit % 32 * 4;
            const float4 stage_value = LOAD_LOCAL(float4, stage + (quotient_20 * 136 + product_32));
            const uint sum_65 = row + quotient_20 / 32 * 64 + product_31 + quotient_20 % 32;
            const uint sum_66 = column + product_32;
            if (sum_65 < m && sum_66 < n) {
                STORE(float4, y + (quotient * y_stride0 + sum_65 * y_stride1 + sum_66 / 4) * 4, stage_value);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
