/* y = a @ b    f64, in f64, by matrix instructions, tiles of 128 x 128 x 8 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* A 16 x 4 matrix times a 4 x 16 one is added to sums. */
static inline double4 mfma_f64(const double a, const double b, const double4 sums)
{
    return __builtin_amdgcn_mfma_f64_16x16x4f64((a), (b), sums, 0, 0, 0);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void contract(const uint m,
              const uint n,
              const uint k,
              const uint matrices,
              __global const double *restrict a_buffer,
              const ulong a_offset,
              const uint a_stride0,
              __global const double *restrict b_buffer,
              const ulong b_offset,
              const uint b_stride0,
              const uint per,
              const uint tiles_down,
              const uint tiles_across,
              const uint raster,
              __global double *restrict y_buffer,
              const ulong y_offset,
              const uint y_stride0,
              const uint y_stride1)
{
    __global const double *a = AT(a_buffer, a_offset);
    __global const double *b = AT(b_buffer, b_offset);
    __global double *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint item = get_local_id(0);
    __local double stage[4224] __attribute__((aligned(32)));
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
    const uint steps = (count + 7) / 8;
    const uint quotient_3 = item / 4;
    const uint a_k = item % 4 * 2;
    const uint rest_4 = a_k % 8;
    const uint product_5 = quotient_3 * 2;
    const uint sum_3 = (a_k / 8 * 4 + rest_4 / 2) * 258 + product_5;
    const uint a_to = sum_3 + rest_4 % 2;
    const uint sum_4 = row + quotient_3;
    const uint difference_2 = m - 1;
    const uint a_row = min(sum_4, difference_2) * a_stride0;
    const uint sum_5 = item + 256;
    const uint quotient_6 = sum_5 / 4;
    const uint a_k_1 = sum_5 % 4 * 2;
    const uint rest_7 = a_k_1 % 8;
    const uint product_8 = quotient_6 * 2;
    const uint sum_7 = (a_k_1 / 8 * 4 + rest_7 / 2) * 258 + product_8;
    const uint a_to_1 = sum_7 + rest_7 % 2;
    const uint sum_8 = row + quotient_6;
    const uint a_row_1 = min(sum_8, difference_2) * a_stride0;
    const uint b_k = item / 64;
    const uint product_9 = item % 64 * 2;
    const uint rest_10 = b_k % 8;
    const uint sum_9 = rest_10 % 2 * 4 + rest_10 / 2;
    const uint b_to = (b_k / 8 * 8 + sum_9) * 132 + product_9 + 1032;
    const uint sum_12 = column + product_9;
    const uint difference_3 = n - 2;
    const uint quotient_11 = min(sum_12, difference_3) / 2;
    const uint b_k_1 = sum_5 / 64;
    const uint product_13 = sum_5 % 64 * 2;
    const uint rest_13 = b_k_1 % 8;
    const uint sum_13 = rest_13 % 2 * 4 + rest_13 / 2;
    const uint b_to_1 = (b_k_1 / 8 * 8 + sum_13) * 132 + product_13 + 1032;
    const uint sum_16 = column + product_13;
    const uint quotient_14 = min(sum_16, difference_3) / 2;
    const uint shr_value = item >> 6;
    const uint and_value = item & 63;
    const uint quotient_15 = shr_value / 2;
    const uint own_row = quotient_15 * 64;
    const uint own_column = shr_value % 2 * 64;
    double4 sum_0_0 = (double4)(0.0);
    double4 sum_0_1 = (double4)(0.0);
    double4 sum_0_2 = (double4)(0.0);
    double4 sum_0_3 = (double4)(0.0);
    double4 sum_1_0 = (double4)(0.0);
    double4 sum_1_1 = (double4)(0.0);
    double4 sum_1_2 = (double4)(0.0);
    double4 sum_1_3 = (double4)(0.0);
    double4 sum_2_0 = (double4)(0.0);
    double4 sum_2_1 = (double4)(0.0);
    double4 sum_2_2 = (double4)(0.0);
    double4 sum_2_3 = (double4)(0.0);
    double4 sum_3_0 = (double4)(0.0);
    double4 sum_3_1 = (double4)(0.0);
    double4 sum_3_2 = (double4)(0.0);
    double4 sum_3_3 = (double4)(0.0);
    const uint ragged = count - (steps - 1) * 8;
    double2 a_held = (double2)(0.0);
    double2 a_held_1 = (double2)(0.0);
    double2 b_held = (double2)(0.0);
    double2 b_held_1 = (double2)(0.0);
    if (a_k < ragged) {
        const double2 a_i = LOAD(double2, a + (a_row + (begin + a_k) / 2) * 2);
        a_held = a_i;
    }
    if (a_k_1 < ragged) {
        const double2 a_i_1 = LOAD(double2, a + (a_row_1 + (begin + a_k_1) / 2) * 2);
        a_held_1 = a_i_1;
    }
    if (b_k < ragged) {
        const double2 b_i = LOAD(double2, b + ((begin + b_k) * b_stride0 + quotient_11) * 2);
        b_held = b_i;
    }
    if (b_k_1 < ragged) {
        const double2 b_i_1 = LOAD(double2, b + ((begin + b_k_1) * b_stride0 + quotient_14) * 2);
        b_held_1 = b_i_1;
    }
    STORE_LOCAL(double2, stage + a_to, a_held);
    STORE_LOCAL(double2, stage + a_to_1, a_held_1);
    STORE_LOCAL(double2, stage + b_to, b_held);
    STORE_LOCAL(double2, stage + b_to_1, b_held_1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint and_value_1 = and_value & 15;
    const uint shr_value_1 = and_value >> 4;
    const uint sum_22 = (own_row + and_value_1) * 2 + shr_value_1 * 258;
    const uint sum_24 = own_column + and_value_1 * 2 + shr_value_1 * 132;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_25 = step_1 + 1;
        const bool is_less_4 = sum_25 < steps;
        if (is_less_4) {
            const uint next = begin + ragged + step_1 * 8;
            const double2 a_i_2 = LOAD(double2, a + (a_row + (next + a_k) / 2) * 2);
            a_held = a_i_2;
            const double2 a_i_3 = LOAD(double2, a + (a_row_1 + (next + a_k_1) / 2) * 2);
            a_held_1 = a_i_3;
            const double2 b_i_2 = LOAD(double2, b + ((next + b_k) * b_stride0 + quotient_11) * 2);
            b_held = b_i_2;
            const double2 b_i_3 = LOAD(double2, b + ((next + b_k_1) * b_stride0 + quotient_14) * 2);
            b_held_1 = b_i_3;
        }
        const uint product_23 = (step_1 & 1) * 2088;
        const ulong a_at = (ulong)(product_23 + sum_22);
        const ulong b_at = (ulong)(product_23 + 1032 + sum_24);
        const double2 b_part = LOAD_LOCAL(double2, stage + b_at);
        const double lane = b_part.s0;
        const double lane_1 = b_part.s1;
        const double2 b_part_1 = LOAD_LOCAL(double2, stage + (b_at + 528));
        const double lane_2 = b_part_1.s0;
        const double lane_3 = b_part_1.s1;
        const double2 b_part_2 = LOAD_LOCAL(double2, stage + (b_at + 32));
        const double lane_4 = b_part_2.s0;
        const double lane_5 = b_part_2.s1;
        const double2 b_part_3 = LOAD_LOCAL(double2, stage + (b_at + 560));
        const double lane_6 = b_part_3.s0;
        const double lane_7 = b_part_3.s1;
        const double2 a_part = LOAD_LOCAL(double2, stage + a_at);
        const double lane_8 = a_part.s0;
        const double lane_9 = a_part.s1;
        const double4 sums = mfma_f64(lane_8, lane, sum_0_0);
        sum_0_0 = sums;
        const double4 sums_1 = mfma_f64(lane_8, lane_1, sum_0_1);
        sum_0_1 = sums_1;
        const double4 sums_2 = mfma_f64(lane_8, lane_4, sum_0_2);
        sum_0_2 = sums_2;
        const double4 sums_3 = mfma_f64(lane_8, lane_5, sum_0_3);
        sum_0_3 = sums_3;
        const double4 sums_4 = mfma_f64(lane_9, lane_2, sum_0_0);
        sum_0_0 = sums_4;
        const double4 sums_5 = mfma_f64(lane_9, lane_3, sum_0_1);
        sum_0_1 = sums_5;
        const double4 sums_6 = mfma_f64(lane_9, lane_6, sum_0_2);
        sum_0_2 = sums_6;
        const double4 sums_7 = mfma_f64(lane_9, lane_7, sum_0_3);
        sum_0_3 = sums_7;
        const double2 a_part_1 = LOAD_LOCAL(double2, stage + (a_at + 32));
        const double lane_10 = a_part_1.s0;
        const double lane_11 = a_part_1.s1;
        const double4 sums_8 = mfma_f64(lane_10, lane, sum_1_0);
        sum_1_0 = sums_8;
        const double4 sums_9 = mfma_f64(lane_10, lane_1, sum_1_1);
        sum_1_1 = sums_9;
        const double4 sums_10 = mfma_f64(lane_10, lane_4, sum_1_2);
        sum_1_2 = sums_10;
        const double4 sums_11 = mfma_f64(lane_10, lane_5, sum_1_3);
        sum_1_3 = sums_11;
        const double4 sums_12 = mfma_f64(lane_11, lane_2, sum_1_0);
        sum_1_0 = sums_12;
        const double4 sums_13 = mfma_f64(lane_11, lane_3, sum_1_1);
        sum_1_1 = sums_13;
        const double4 sums_14 = mfma_f64(lane_11, lane_6, sum_1_2);
        sum_1_2 = sums_14;
        const double4 sums_15 = mfma_f64(lane_11, lane_7, sum_1_3);
        sum_1_3 = sums_15;
        const double2 a_part_2 = LOAD_LOCAL(double2, stage + (a_at + 64));
        const double lane_12 = a_part_2.s0;
        const double lane_13 = a_part_2.s1;
        const double4 sums_16 = mfma_f64(lane_12, lane, sum_2_0);
        sum_2_0 = sums_16;
        const double4 sums_17 = mfma_f64(lane_12, lane_1, sum_2_1);
        sum_2_1 = sums_17;
        const double4 sums_18 = mfma_f64(lane_12, lane_4, sum_2_2);
        sum_2_2 = sums_18;
        const double4 sums_19 = mfma_f64(lane_12, lane_5, sum_2_3);
        sum_2_3 = sums_19;
        const double4 sums_20 = mfma_f64(lane_13, lane_2, sum_2_0);
        sum_2_0 = sums_20;
        const double4 sums_21 = mfma_f64(lane_13, lane_3, sum_2_1);
        sum_2_1 = sums_21;
        const double4 sums_22 = mfma_f64(lane_13, lane_6, sum_2_2);
        sum_2_2 = sums_22;
        const double4 sums_23 = mfma_f64(lane_13, lane_7, sum_2_3);
        sum_2_3 = sums_23;
        const double2 a_part_3 = LOAD_LOCAL(double2, stage + (a_at + 96));
        const double lane_14 = a_part_3.s0;
        const double lane_15 = a_part_3.s1;
        const double4 sums_24 = mfma_f64(lane_14, lane, sum_3_0);
        sum_3_0 = sums_24;
        const double4 sums_25 = mfma_f64(lane_14, lane_1, sum_3_1);
        sum_3_1 = sums_25;
        const double4 sums_26 = mfma_f64(lane_14, lane_4, sum_3_2);
        sum_3_2 = sums_26;
        const double4 sums_27 = mfma_f64(lane_14, lane_5, sum_3_3);
        sum_3_3 = sums_27;
        const double4 sums_28 = mfma_f64(lane_15, lane_2, sum_3_0);
        sum_3_0 = sums_28;
        const double4 sums_29 = mfma_f64(lane_15, lane_3, sum_3_1);
        sum_3_1 = sums_29;
        const double4 sums_30 = mfma_f64(lane_15, lane_6, sum_3_2);
        sum_3_2 = sums_30;
        const double4 sums_31 = mfma_f64(lane_15, lane_7, sum_3_3);
        sum_3_3 = sums_31;
        if (is_less_4) {
            const uint product_24 = (sum_25 & 1) * 2088;
            STORE_LOCAL(double2, stage + (a_to + product_24), a_held);
            STORE_LOCAL(double2, stage + (a_to_1 + product_24), a_held_1);
            STORE_LOCAL(double2, stage + (b_to + product_24), b_held);
            STORE_LOCAL(double2, stage + (b_to_1 + product_24), b_held_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 4; ++band) {
        if (band == 0) {
            const uint sum_45 = quotient_15 * 2112 + own_column + ((and_value >> 4) & 3) * 132;
            const uint sums_at = sum_45 + (and_value & 15) * 2;
            STORE_LOCAL(double2, stage + sums_at, (double2)(sum_0_0.s0, sum_0_1.s0));
            STORE_LOCAL(double2, stage + (sums_at + 32), (double2)(sum_0_2.s0, sum_0_3.s0));
            STORE_LOCAL(double2, stage + (sums_at + 528), (double2)(sum_0_0.s1, sum_0_1.s1));
            STORE_LOCAL(double2, stage + (sums_at + 560), (double2)(sum_0_2.s1, sum_0_3.s1));
            STORE_LOCAL(double2, stage + (sums_at + 1056), (double2)(sum_0_0.s2, sum_0_1.s2));
            STORE_LOCAL(double2, stage + (sums_at + 1088), (double2)(sum_0_2.s2, sum_0_3.s2));
            STORE_LOCAL(double2, stage + (sums_at + 1584), (double2)(sum_0_0.s3, sum_0_1.s3));
            STORE_LOCAL(double2, stage + (sums_at + 1616), (double2)(sum_0_2.s3, sum_0_3.s3));
        }
        if (band == 1) {
            const uint sum_54 = quotient_15 * 2112 + own_column + ((and_value >> 4) & 3) * 132;
            const uint sums_at_1 = sum_54 + (and_value & 15) * 2;
            STORE_LOCAL(double2, stage + sums_at_1, (double2)(sum_1_0.s0, sum_1_1.s0));
            STORE_LOCAL(double2, stage + (sums_at_1 + 32), (double2)(sum_1_2.s0, sum_1_3.s0));
            STORE_LOCAL(double2, stage + (sums_at_1 + 528), (double2)(sum_1_0.s1, sum_1_1.s1));
            STORE_LOCAL(double2, stage + (sums_at_1 + 560), (double2)(sum_1_2.s1, sum_1_3.s1));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1056), (double2)(sum_1_0.s2, sum_1_1.s2));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1088), (double2)(sum_1_2.s2, sum_1_3.s2));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1584), (double2)(sum_1_0.s3, sum_1_1.s3));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1616), (double2)(sum_1_2.s3, sum_1_3.s3));
        }
        if (band == 2) {
            const uint sum_63 = quotient_15 * 2112 + own_column + ((and_value >> 4) & 3) * 132;
            const uint sums_at_2 = sum_63 + (and_value & 15) * 2;
            STORE_LOCAL(double2, stage + sums_at_2, (double2)(sum_2_0.s0, sum_2_1.s0));
            STORE_LOCAL(double2, stage + (sums_at_2 + 32), (double2)(sum_2_2.s0, sum_2_3.s0));
            STORE_LOCAL(double2, stage + (sums_at_2 + 528), (double2)(sum_2_0.s1, sum_2_1.s1));
            STORE_LOCAL(double2, stage + (sums_at_2 + 560), (double2)(sum_2_2.s1, sum_2_3.s1));
            STORE_LOCAL(double2, stage + (sums_at_2 + 1056), (double2)(sum_2_0.s2, sum_2_1.s2));
            STORE_LOCAL(double2, stage + (sums_at_2 + 1088), (double2)(sum_2_2.s2, sum_2_3.s2));
            STORE_LOCAL(double2, stage + (sums_at_2 + 1584), (double2)(sum_2_0.s3, sum_2_1.s3));
            STORE_LOCAL(double2, stage + (sums_at_2 + 1616), (double2)(sum_2_2.s3, sum_2_3.s3));
        }
        if (band == 3) {
            const uint sum_72 = quotient_15 * 2112 + own_column + ((and_value >> 4) & 3) * 132;
            const uint sums_at_3 = sum_72 + (and_value & 15) * 2;
            STORE_LOCAL(double2, stage + sums_at_3, (double2)(sum_3_0.s0, sum_3_1.s0));
            STORE_LOCAL(double2, stage + (sums_at_3 + 32), (double2)(sum_3_2.s0, sum_3_3.s0));
            STORE_LOCAL(double2, stage + (sums_at_3 + 528), (double2)(sum_3_0.s1, sum_3_1.s1));
            STORE_LOCAL(double2, stage + (sums_at_3 + 560), (double2)(sum_3_2.s1, sum_3_3.s1));
            STORE_LOCAL(double2, stage + (sums_at_3 + 1056), (double2)(sum_3_0.s2, sum_3_1.s2));
            STORE_LOCAL(double2, stage + (sums_at_3 + 1088), (double2)(sum_3_2.s2, sum_3_3.s2));
            STORE_LOCAL(double2, stage + (sums_at_3 + 1584), (double2)(sum_3_0.s3, sum_3_1.s3));
            STORE_LOCAL(double2, stage + (sums_at_3 + 1616), (double2)(sum_3_2.s3, sum_3_3.s3));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_37 = band * 16;
        for (uint unit = item; unit < 2048; unit += 256) {
            const uint quotient_20 = unit / 64;
            const uint product_38 = unit % 64 * 2;
            const double2 stage_value = LOAD_LOCAL(double2, stage + (quotient_20 * 132 + product_38));
            const uint sum_83 = row + quotient_20 / 16 * 64 + product_37 + quotient_20 % 16;
            const uint sum_84 = column + product_38;
            if (sum_83 < m && sum_84 < n) {
                STORE(double2, y + (quotient * y_stride0 + sum_83 * y_stride1 + sum_84 / 2) * 2, stage_value);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
