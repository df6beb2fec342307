/* y = a @ b    f64, in f64, by matrix instructions, tiles of 64 x 128 x 16 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* A 16 x 16 matrix times a 16 x 8 one is added to sums. */
static inline double4 mma_f64(const double8 a, const double4 b, const double4 sums)
{
    double s0 = sums.s0, s1 = sums.s1, s2 = sums.s2, s3 = sums.s3;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(s0), "+d"(s1), "+d"(s2), "+d"(s3)
                 : "d"(a.s0), "d"(a.s1), "d"(a.s2), "d"(a.s3), "d"(a.s4), "d"(a.s5), "d"(a.s6), "d"(a.s7),
                   "d"(b.s0), "d"(b.s1), "d"(b.s2), "d"(b.s3));
    return (double4)(s0, s1, s2, s3);
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
    __local double stage[6272] __attribute__((aligned(32)));
    const uint product = tiles_down * tiles_across;
    const uint rest = group % product;
    const uint quotient = group / product;
    const uint product_1 = raster * tiles_across;
    const uint product_2 = rest / product_1 * raster;
    const uint rest_1 = rest % product_1;
    const uint difference = tiles_down - product_2;
    const uint smaller = min(difference, raster);
    const uint row = (product_2 + rest_1 % smaller) * 64;
    const uint column = rest_1 / smaller * 128;
    const uint begin = quotient * per;
    const uint difference_1 = k - begin;
    const uint count = min(difference_1, per);
    const uint steps = (count + 15) / 16;
    const uint quotient_3 = item / 8;
    const uint a_k = item % 8 * 2;
    const uint xor_value = (a_k % 16) ^ ((quotient_3 & 3) * 4);
    const uint a_to = (a_k / 16 * 64 + quotient_3) * 16 + xor_value;
    const uint sum_3 = row + quotient_3;
    const uint difference_2 = m - 1;
    const uint a_row = min(sum_3, difference_2) * a_stride0;
    const uint sum_4 = item + 256;
    const uint quotient_5 = sum_4 / 8;
    const uint a_k_1 = sum_4 % 8 * 2;
    const uint xor_value_1 = (a_k_1 % 16) ^ ((quotient_5 & 3) * 4);
    const uint a_to_1 = (a_k_1 / 16 * 64 + quotient_5) * 16 + xor_value_1;
    const uint sum_6 = row + quotient_5;
    const uint a_row_1 = min(sum_6, difference_2) * a_stride0;
    const uint b_k = item / 64;
    const uint product_9 = item % 64 * 2;
    const uint sum_8 = (b_k / 16 * 16 + b_k % 16) * 132 + product_9;
    const uint b_to = sum_8 + 1024;
    const uint sum_9 = column + product_9;
    const uint difference_3 = n - 2;
    const uint quotient_8 = min(sum_9, difference_3) / 2;
    const uint b_k_1 = sum_4 / 64;
    const uint product_12 = sum_4 % 64 * 2;
    const uint sum_11 = (b_k_1 / 16 * 16 + b_k_1 % 16) * 132 + product_12;
    const uint b_to_1 = sum_11 + 1024;
    const uint sum_12 = column + product_12;
    const uint quotient_10 = min(sum_12, difference_3) / 2;
    const uint sum_13 = item + 512;
    const uint b_k_2 = sum_13 / 64;
    const uint product_15 = sum_13 % 64 * 2;
    const uint sum_15 = (b_k_2 / 16 * 16 + b_k_2 % 16) * 132 + product_15;
    const uint b_to_2 = sum_15 + 1024;
    const uint sum_16 = column + product_15;
    const uint quotient_12 = min(sum_16, difference_3) / 2;
    const uint sum_17 = item + 768;
    const uint b_k_3 = sum_17 / 64;
    const uint product_18 = sum_17 % 64 * 2;
    const uint sum_19 = (b_k_3 / 16 * 16 + b_k_3 % 16) * 132 + product_18;
    const uint b_to_3 = sum_19 + 1024;
    const uint sum_20 = column + product_18;
    const uint quotient_14 = min(sum_20, difference_3) / 2;
    const uint shr_value = item >> 5;
    const uint and_value_2 = item & 31;
    const uint quotient_15 = shr_value / 4;
    const uint own_row = quotient_15 * 32;
    const uint own_column = shr_value % 4 * 32;
    double4 sum_0_0 = (double4)(0.0);
    double4 sum_0_1 = (double4)(0.0);
    double4 sum_0_2 = (double4)(0.0);
    double4 sum_0_3 = (double4)(0.0);
    double4 sum_1_0 = (double4)(0.0);
    double4 sum_1_1 = (double4)(0.0);
    double4 sum_1_2 = (double4)(0.0);
    double4 sum_1_3 = (double4)(0.0);
    const uint ragged = count - (steps - 1) * 16;
    double2 a_held = (double2)(0.0);
    double2 a_held_1 = (double2)(0.0);
    double2 b_held = (double2)(0.0);
    double2 b_held_1 = (double2)(0.0);
    double2 b_held_2 = (double2)(0.0);
    double2 b_held_3 = (double2)(0.0);
    if (a_k < ragged) {
        const double2 a_i = LOAD(double2, a + (a_row + (begin + a_k) / 2) * 2);
        a_held = a_i;
    }
    if (a_k_1 < ragged) {
        const double2 a_i_1 = LOAD(double2, a + (a_row_1 + (begin + a_k_1) / 2) * 2);
        a_held_1 = a_i_1;
    }
    if (b_k < ragged) {
        const double2 b_i = LOAD(double2, b + ((begin + b_k) * b_stride0 + quotient_8) * 2);
        b_held = b_i;
    }
    if (b_k_1 < ragged) {
        const double2 b_i_1 = LOAD(double2, b + ((begin + b_k_1) * b_stride0 + quotient_10) * 2);
        b_held_1 = b_i_1;
    }
    if (b_k_2 < ragged) {
        const double2 b_i_2 = LOAD(double2, b + ((begin + b_k_2) * b_stride0 + quotient_12) * 2);
        b_held_2 = b_i_2;
    }
    if (b_k_3 < ragged) {
        const double2 b_i_3 = LOAD(double2, b + ((begin + b_k_3) * b_stride0 + quotient_14) * 2);
        b_held_3 = b_i_3;
    }
    STORE_LOCAL(double2, stage + a_to, a_held);
    STORE_LOCAL(double2, stage + a_to_1, a_held_1);
    STORE_LOCAL(double2, stage + b_to, b_held);
    STORE_LOCAL(double2, stage + b_to_1, b_held_1);
    STORE_LOCAL(double2, stage + b_to_2, b_held_2);
    STORE_LOCAL(double2, stage + b_to_3, b_held_3);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint shr_value_1 = and_value_2 >> 2;
    const uint sum_27 = own_row + shr_value_1;
    const uint and_value_3 = and_value_2 & 3;
    const uint sum_28 = sum_27 * 16 + and_value_3;
    const uint product_23 = (sum_27 & 3) * 4;
    const uint sum_29 = sum_28 + (product_23 ^ 0);
    const uint sum_30 = sum_28 + (product_23 ^ 4);
    const uint sum_31 = sum_28 + (product_23 ^ 8);
    const uint sum_32 = sum_28 + (product_23 ^ 12);
    const uint sum_34 = own_column + shr_value_1 + and_value_3 * 132;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_35 = step_1 + 1;
        const bool is_less_6 = sum_35 < steps;
        if (is_less_6) {
            const uint next = begin + ragged + step_1 * 16;
            const double2 a_i_2 = LOAD(double2, a + (a_row + (next + a_k) / 2) * 2);
            a_held = a_i_2;
            const double2 a_i_3 = LOAD(double2, a + (a_row_1 + (next + a_k_1) / 2) * 2);
            a_held_1 = a_i_3;
            const double2 b_i_4 = LOAD(double2, b + ((next + b_k) * b_stride0 + quotient_8) * 2);
            b_held = b_i_4;
            const double2 b_i_5 = LOAD(double2, b + ((next + b_k_1) * b_stride0 + quotient_10) * 2);
            b_held_1 = b_i_5;
            const double2 b_i_6 = LOAD(double2, b + ((next + b_k_2) * b_stride0 + quotient_12) * 2);
            b_held_2 = b_i_6;
            const double2 b_i_7 = LOAD(double2, b + ((next + b_k_3) * b_stride0 + quotient_14) * 2);
            b_held_3 = b_i_7;
        }
        const uint product_26 = (step_1 & 1) * 3136;
        const ulong a_at = (ulong)(product_26 + sum_29);
        const ulong a_at_1 = (ulong)(product_26 + sum_30);
        const ulong a_at_2 = (ulong)(product_26 + sum_31);
        const ulong a_at_3 = (ulong)(product_26 + sum_32);
        const ulong b_at = (ulong)(product_26 + 1024 + sum_34);
        const double b_part = stage[b_at];
        const double b_part_1 = stage[b_at + 528];
        const double b_part_2 = stage[b_at + 1056];
        const double b_part_3 = stage[b_at + 1584];
        const double b_part_4 = stage[b_at + 8];
        const double b_part_5 = stage[b_at + 536];
        const double b_part_6 = stage[b_at + 1064];
        const double b_part_7 = stage[b_at + 1592];
        const double b_part_8 = stage[b_at + 16];
        const double b_part_9 = stage[b_at + 544];
        const double b_part_10 = stage[b_at + 1072];
        const double b_part_11 = stage[b_at + 1600];
        const double b_part_12 = stage[b_at + 24];
        const double b_part_13 = stage[b_at + 552];
        const double b_part_14 = stage[b_at + 1080];
        const double b_part_15 = stage[b_at + 1608];
        const double a_part = stage[a_at];
        const double a_part_1 = stage[a_at_1];
        const double a_part_2 = stage[a_at_2];
        const double a_part_3 = stage[a_at_3];
        const double a_part_4 = stage[a_at + 128];
        const double a_part_5 = stage[a_at_1 + 128];
        const double a_part_6 = stage[a_at_2 + 128];
        const double a_part_7 = stage[a_at_3 + 128];
        const double8 joined = (double8)(a_part, a_part_4, a_part_1, a_part_5, a_part_2, a_part_6, a_part_3, a_part_7);
        const double4 joined_1 = (double4)(b_part, b_part_1, b_part_2, b_part_3);
        const double4 sums = mma_f64(joined, joined_1, sum_0_0);
        sum_0_0 = sums;
        const double4 joined_2 = (double4)(b_part_4, b_part_5, b_part_6, b_part_7);
        const double4 sums_1 = mma_f64(joined, joined_2, sum_0_1);
        sum_0_1 = sums_1;
        const double4 joined_3 = (double4)(b_part_8, b_part_9, b_part_10, b_part_11);
        const double4 sums_2 = mma_f64(joined, joined_3, sum_0_2);
        sum_0_2 = sums_2;
        const double4 joined_4 = (double4)(b_part_12, b_part_13, b_part_14, b_part_15);
        const double4 sums_3 = mma_f64(joined, joined_4, sum_0_3);
        sum_0_3 = sums_3;
        const double a_part_8 = stage[a_at + 256];
        const double a_part_9 = stage[a_at_1 + 256];
        const double a_part_10 = stage[a_at_2 + 256];
        const double a_part_11 = stage[a_at_3 + 256];
        const double a_part_12 = stage[a_at + 384];
        const double a_part_13 = stage[a_at_1 + 384];
        const double a_part_14 = stage[a_at_2 + 384];
        const double a_part_15 = stage[a_at_3 + 384];
        const double8 joined_5 = (double8)(a_part_8, a_part_12, a_part_9, a_part_13, a_part_10, a_part_14, a_part_11, a_part_15);
        const double4 sums_4 = mma_f64(joined_5, joined_1, sum_1_0);
        sum_1_0 = sums_4;
        const double4 sums_5 = mma_f64(joined_5, joined_2, sum_1_1);
        sum_1_1 = sums_5;
        const double4 sums_6 = mma_f64(joined_5, joined_3, sum_1_2);
        sum_1_2 = sums_6;
        const double4 sums_7 = mma_f64(joined_5, joined_4, sum_1_3);
        sum_1_3 = sums_7;
        if (is_less_6) {
            const uint product_27 = (sum_35 & 1) * 3136;
            STORE_LOCAL(double2, stage + (a_to + product_27), a_held);
            STORE_LOCAL(double2, stage + (a_to_1 + product_27), a_held_1);
            STORE_LOCAL(double2, stage + (b_to + product_27), b_held);
            STORE_LOCAL(double2, stage + (b_to_1 + product_27), b_held_1);
            STORE_LOCAL(double2, stage + (b_to_2 + product_27), b_held_2);
            STORE_LOCAL(double2, stage + (b_to_3 + product_27), b_held_3);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 2; ++band) {
        if (band == 0) {
            const uint sum_83 = quotient_15 * 2112 + own_column + ((and_value_2 >> 2) & 7) * 132;
            const uint sums_at = sum_83 + (and_value_2 & 3) * 2;
            STORE_LOCAL(double2, stage + sums_at, (double2)(sum_0_0.s0, sum_0_0.s1));
            STORE_LOCAL(double2, stage + (sums_at + 8), (double2)(sum_0_1.s0, sum_0_1.s1));
            STORE_LOCAL(double2, stage + (sums_at + 16), (double2)(sum_0_2.s0, sum_0_2.s1));
            STORE_LOCAL(double2, stage + (sums_at + 24), (double2)(sum_0_3.s0, sum_0_3.s1));
            STORE_LOCAL(double2, stage + (sums_at + 1056), (double2)(sum_0_0.s2, sum_0_0.s3));
            STORE_LOCAL(double2, stage + (sums_at + 1064), (double2)(sum_0_1.s2, sum_0_1.s3));
            STORE_LOCAL(double2, stage + (sums_at + 1072), (double2)(sum_0_2.s2, sum_0_2.s3));
            STORE_LOCAL(double2, stage + (sums_at + 1080), (double2)(sum_0_3.s2, sum_0_3.s3));
        }
        if (band == 1) {
            const uint sum_92 = quotient_15 * 2112 + own_column + ((and_value_2 >> 2) & 7) * 132;
            const uint sums_at_1 = sum_92 + (and_value_2 & 3) * 2;
            STORE_LOCAL(double2, stage + sums_at_1, (double2)(sum_1_0.s0, sum_1_0.s1));
            STORE_LOCAL(double2, stage + (sums_at_1 + 8), (double2)(sum_1_1.s0, sum_1_1.s1));
            STORE_LOCAL(double2, stage + (sums_at_1 + 16), (double2)(sum_1_2.s0, sum_1_2.s1));
            STORE_LOCAL(double2, stage + (sums_at_1 + 24), (double2)(sum_1_3.s0, sum_1_3.s1));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1056), (double2)(sum_1_0.s2, sum_1_0.s3));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1064), (double2)(sum_1_1.s2, sum_1_1.s3));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1072), (double2)(sum_1_2.s2, sum_1_2.s3));
            STORE_LOCAL(double2, stage + (sums_at_1 + 1080), (double2)(sum_1_3.s2, sum_1_3.s3));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_34 = band * 16;
        for (uint unit = item; unit < 2048; unit += 256) {
            const uint quotient_20 = unit / 64;
            const uint product_35 = unit % 64 * 2;
            const double2 stage_value = LOAD_LOCAL(double2, stage + (quotient_20 * 132 + product_35));
            const uint sum_103 = row + quotient_20 / 16 * 32 + product_34 + quotient_20 % 16;
            const uint sum_104 = column + product_35;
            if (sum_103 < m && sum_104 < n) {
                STORE(double2, y + (quotient * y_stride0 + sum_103 * y_stride1 + sum_104 / 2) * 2, stage_value);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
