/* y = a @ b    f16, in f32, by matrix instructions, tiles of 128 x 128 x 32 */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* A 16 x 16 matrix of halves times another one is added to sums. */
static inline float4 mfma_f16(const uint2 a, const uint2 b, const float4 sums)
{
    return __builtin_amdgcn_mfma_f32_16x16x16f16(as_half4(a), as_half4(b), sums, 0, 0, 0);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void contract(const uint m,
              const uint n,
              const uint k,
              const uint matrices,
              __global const uint *restrict a_buffer,
              const ulong a_offset,
              const uint a_stride0,
              __global const uint *restrict b_buffer,
              const ulong b_offset,
              const uint b_stride0,
              const uint per,
              const uint tiles_down,
              const uint tiles_across,
              const uint raster,
              __global half *restrict y_buffer,
              const ulong y_offset,
              const uint y_stride0,
              const uint y_stride1)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *b = AT(b_buffer, b_offset);
    __global half *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint item = get_local_id(0);
    __local uint stage[8704] __attribute__((aligned(32)));
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
    const uint steps = (count + 31) / 32;
    const uint quotient_3 = item / 4;
    const uint a_k = item % 4 * 8;
    const uint quotient_4 = a_k / 2;
    const uint rest_4 = quotient_4 % 16;
    const uint product_5 = quotient_3 * 4;
    const uint sum_3 = (quotient_4 / 16 * 4 + rest_4 / 4) * 516 + product_5;
    const uint a_to = sum_3 + rest_4 % 4;
    const uint sum_4 = row + quotient_3;
    const uint difference_2 = m - 1;
    const uint a_row = min(sum_4, difference_2) * a_stride0;
    const uint sum_5 = item + 256;
    const uint quotient_7 = sum_5 / 4;
    const uint a_k_1 = sum_5 % 4 * 8;
    const uint quotient_8 = a_k_1 / 2;
    const uint rest_7 = quotient_8 % 16;
    const uint product_8 = quotient_7 * 4;
    const uint sum_7 = (quotient_8 / 16 * 4 + rest_7 / 4) * 516 + product_8;
    const uint a_to_1 = sum_7 + rest_7 % 4;
    const uint sum_8 = row + quotient_7;
    const uint a_row_1 = min(sum_8, difference_2) * a_stride0;
    const uint b_k = item / 16 * 2;
    const uint product_9 = item % 16 * 8;
    const uint quotient_12 = b_k / 2;
    const uint rest_10 = quotient_12 % 16;
    const uint sum_9 = rest_10 % 4 * 4 + rest_10 / 4;
    const uint sum_11 = (quotient_12 / 16 * 16 + sum_9) * 136 + product_9;
    const uint b_to = sum_11 + 2064;
    const uint sum_12 = column + product_9;
    const uint difference_3 = n - 8;
    const uint quotient_15 = min(sum_12, difference_3) / 8;
    const uint shr_value = item >> 6;
    const uint and_value = item & 63;
    const uint quotient_16 = shr_value / 2;
    const uint own_row = quotient_16 * 64;
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
    const uint ragged = count - (steps - 1) * 32;
    uint4 a_held = (uint4)(0);
    uint4 a_held_1 = (uint4)(0);
    uint4 b_held = (uint4)(0);
    uint4 b_held_1 = (uint4)(0);
    if (a_k < ragged) {
        const uint4 a_i = LOAD(uint4, a + (a_row + (begin + a_k) / 8) * 4);
        a_held = a_i;
    }
    if (a_k_1 < ragged) {
        const uint4 a_i_1 = LOAD(uint4, a + (a_row_1 + (begin + a_k_1) / 8) * 4);
        a_held_1 = a_i_1;
    }
    if (b_k < ragged) {
        const uint4 b_i = LOAD(uint4, b + ((begin + b_k) * b_stride0 + quotient_15) * 4);
        b_held = b_i;
    }
    const uint sum_16 = b_k + 1;
    if (sum_16 < ragged) {
        const uint4 b_i_1 = LOAD(uint4, b + ((begin + sum_16) * b_stride0 + quotient_15) * 4);
        b_held_1 = b_i_1;
    }
    STORE_LOCAL(uint4, stage + a_to, a_held);
    STORE_LOCAL(uint4, stage + a_to_1, a_held_1);
    const uint4 or_value = (b_held & 65535) | (b_held_1 << 16);
    const uint4 or_value_1 = (b_held >> 16) | (b_held_1 & 4294901760u);
    STORE_LOCAL(uint4, stage + b_to, (uint4)(or_value.s0, or_value_1.s0, or_value.s1, or_value_1.s1));
    STORE_LOCAL(uint4, stage + (sum_11 + 2068), (uint4)(or_value.s2, or_value_1.s2, or_value.s3, or_value_1.s3));
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint and_value_3 = and_value & 15;
    const uint shr_value_2 = and_value >> 4;
    const uint sum_20 = (own_row + and_value_3) * 4 + shr_value_2 * 516;
    const uint sum_22 = own_column + and_value_3 * 4 + shr_value_2 * 136;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_23 = step_1 + 1;
        const bool is_less_4 = sum_23 < steps;
        if (is_less_4) {
            const uint next = begin + ragged + step_1 * 32;
            const uint4 a_i_2 = LOAD(uint4, a + (a_row + (next + a_k) / 8) * 4);
            a_held = a_i_2;
            const uint4 a_i_3 = LOAD(uint4, a + (a_row_1 + (next + a_k_1) / 8) * 4);
            a_held_1 = a_i_3;
            const uint4 b_i_2 = LOAD(uint4, b + ((next + b_k) * b_stride0 + quotient_15) * 4);
            b_held = b_i_2;
            const uint4 b_i_3 = LOAD(uint4, b + ((next + sum_16) * b_stride0 + quotient_15) * 4);
            b_held_1 = b_i_3;
        }
        const uint product_19 = (step_1 & 1) * 4240;
        const ulong a_at = (ulong)(product_19 + sum_20);
        const ulong b_at = (ulong)(product_19 + 2064 + sum_22);
        const uint4 b_part = LOAD_LOCAL(uint4, stage + b_at);
        const uint4 b_part_1 = LOAD_LOCAL(uint4, stage + (b_at + 544));
        const uint4 b_part_2 = LOAD_LOCAL(uint4, stage + (b_at + 1088));
        const uint4 b_part_3 = LOAD_LOCAL(uint4, stage + (b_at + 1632));
        const uint4 a_part = LOAD_LOCAL(uint4, stage + a_at);
        const uint4 a_part_1 = LOAD_LOCAL(uint4, stage + (a_at + 64));
        const uint2 joined_2 = (uint2)(a_part.s0, a_part.s1);
        const uint2 joined_3 = (uint2)(b_part.s0, b_part_1.s0);
        const float4 sums = mfma_f16(joined_2, joined_3, sum_0_0);
        sum_0_0 = sums;
        const uint2 joined_4 = (uint2)(b_part.s1, b_part_1.s1);
        const float4 sums_1 = mfma_f16(joined_2, joined_4, sum_0_1);
        sum_0_1 = sums_1;
        const uint2 joined_5 = (uint2)(b_part.s2, b_part_1.s2);
        const float4 sums_2 = mfma_f16(joined_2, joined_5, sum_0_2);
        sum_0_2 = sums_2;
        const uint2 joined_6 = (uint2)(b_part.s3, b_part_1.s3);
        const float4 sums_3 = mfma_f16(joined_2, joined_6, sum_0_3);
        sum_0_3 = sums_3;
        const uint2 joined_7 = (uint2)(a_part.s2, a_part.s3);
        const uint2 joined_8 = (uint2)(b_part_2.s0, b_part_3.s0);
        const float4 sums_4 = mfma_f16(joined_7, joined_8, sum_0_0);
        sum_0_0 = sums_4;
        const uint2 joined_9 = (uint2)(b_part_2.s1, b_part_3.s1);
        const float4 sums_5 = mfma_f16(joined_7, joined_9, sum_0_1);
        sum_0_1 = sums_5;
        const uint2 joined_10 = (uint2)(b_part_2.s2, b_part_3.s2);
        const float4 sums_6 = mfma_f16(joined_7, joined_10, sum_0_2);
        sum_0_2 = sums_6;
        const uint2 joined_11 = (uint2)(b_part_2.s3, b_part_3.s3);
        const float4 sums_7 = mfma_f16(joined_7, joined_11, sum_0_3);
        sum_0_3 = sums_7;
        const uint2 joined_12 = (uint2)(a_part_1.s0, a_part_1.s1);
        const float4 sums_8 = mfma_f16(joined_12, joined_3, sum_1_0);
        sum_1_0 = sums_8;
        const float4 sums_9 = mfma_f16(joined_12, joined_4, sum_1_1);
        sum_1_1 = sums_9;
        const float4 sums_10 = mfma_f16(joined_12, joined_5, sum_1_2);
        sum_1_2 = sums_10;
        const float4 sums_11 = mfma_f16(joined_12, joined_6, sum_1_3);
        sum_1_3 = sums_11;
        const uint2 joined_13 = (uint2)(a_part_1.s2, a_part_1.s3);
        const float4 sums_12 = mfma_f16(joined_13, joined_8, sum_1_0);
        sum_1_0 = sums_12;
        const float4 sums_13 = mfma_f16(joined_13, joined_9, sum_1_1);
        sum_1_1 = sums_13;
        const float4 sums_14 = mfma_f16(joined_13, joined_10, sum_1_2);
        sum_1_2 = sums_14;
        const float4 sums_15 = mfma_f16(joined_13, joined_11, sum_1_3);
        sum_1_3 = sums_15;
        const uint4 a_part_2 = LOAD_LOCAL(uint4, stage + (a_at + 128));
        const uint4 a_part_3 = LOAD_LOCAL(uint4, stage + (a_at + 192));
        const uint2 joined_14 = (uint2)(a_part_2.s0, a_part_2.s1);
        const float4 sums_16 = mfma_f16(joined_14, joined_3, sum_2_0);
        sum_2_0 = sums_16;
        const float4 sums_17 = mfma_f16(joined_14, joined_4, sum_2_1);
        sum_2_1 = sums_17;
        const float4 sums_18 = mfma_f16(joined_14, joined_5, sum_2_2);
        sum_2_2 = sums_18;
        const float4 sums_19 = mfma_f16(joined_14, joined_6, sum_2_3);
        sum_2_3 = sums_19;
        const uint2 joined_15 = (uint2)(a_part_2.s2, a_part_2.s3);
        const float4 sums_20 = mfma_f16(joined_15, joined_8, sum_2_0);
        sum_2_0 = sums_20;
        const float4 sums_21 = mfma_f16(joined_15, joined_9, sum_2_1);
        sum_2_1 = sums_21;
        const float4 sums_22 = mfma_f16(joined_15, joined_10, sum_2_2);
        sum_2_2 = sums_22;
        const float4 sums_23 = mfma_f16(joined_15, joined_11, sum_2_3);
        sum_2_3 = sums_23;
        const uint2 joined_16 = (uint2)(a_part_3.s0, a_part_3.s1);
        const float4 sums_24 = mfma_f16(joined_16, joined_3, sum_3_0);
        sum_3_0 = sums_24;
        const float4 sums_25 = mfma_f16(joined_16, joined_4, sum_3_1);
        sum_3_1 = sums_25;
        const float4 sums_26 = mfma_f16(joined_16, joined_5, sum_3_2);
        sum_3_2 = sums_26;
        const float4 sums_27 = mfma_f16(joined_16, joined_6, sum_3_3);
        sum_3_3 = sums_27;
        const uint2 joined_17 = (uint2)(a_part_3.s2, a_part_3.s3);
        const float4 sums_28 = mfma_f16(joined_17, joined_8, sum_3_0);
        sum_3_0 = sums_28;
        const float4 sums_29 = mfma_f16(joined_17, joined_9, sum_3_1);
        sum_3_1 = sums_29;
        const float4 sums_30 = mfma_f16(joined_17, joined_10, sum_3_2);
        sum_3_2 = sums_30;
        const float4 sums_31 = mfma_f16(joined_17, joined_11, sum_3_3);
        sum_3_3 = sums_31;
        if (is_less_4) {
            const uint product_20 = (sum_23 & 1) * 4240;
            STORE_LOCAL(uint4, stage + (a_to + product_20), a_held);
            STORE_LOCAL(uint4, stage + (a_to_1 + product_20), a_held_1);
            const uint sum_40 = b_to + product_20;
            const uint4 or_value_2 = (b_held & 65535) | (b_held_1 << 16);
            const uint4 or_value_3 = (b_held >> 16) | (b_held_1 & 4294901760u);
            STORE_LOCAL(uint4, stage + sum_40, (uint4)(or_value_2.s0, or_value_3.s0, or_value_2.s1, or_value_3.s1));
            STORE_LOCAL(uint4, stage + (sum_40 + 4), (uint4)(or_value_2.s2, or_value_3.s2, or_value_2.s3, or_value_3.s3));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 2; ++band) {
        if (band == 0) {
            const uint sum_43 = quotient_16 * 4352 + own_column + ((and_value >> 4) & 3) * 544;
            const uint sums_at = sum_43 + (and_value & 15) * 4;
            STORE_LOCAL(uint4, stage + sums_at, as_uint4((float4)(sum_0_0.s0, sum_0_1.s0, sum_0_2.s0, sum_0_3.s0)));
            STORE_LOCAL(uint4, stage + (sums_at + 136), as_uint4((float4)(sum_0_0.s1, sum_0_1.s1, sum_0_2.s1, sum_0_3.s1)));
            STORE_LOCAL(uint4, stage + (sums_at + 272), as_uint4((float4)(sum_0_0.s2, sum_0_1.s2, sum_0_2.s2, sum_0_3.s2)));
            STORE_LOCAL(uint4, stage + (sums_at + 408), as_uint4((float4)(sum_0_0.s3, sum_0_1.s3, sum_0_2.s3, sum_0_3.s3)));
            STORE_LOCAL(uint4, stage + (sums_at + 2176), as_uint4((float4)(sum_1_0.s0, sum_1_1.s0, sum_1_2.s0, sum_1_3.s0)));
            STORE_LOCAL(uint4, stage + (sums_at + 2312), as_uint4((float4)(sum_1_0.s1, sum_1_1.s1, sum_1_2.s1, sum_1_3.s1)));
            STORE_LOCAL(uint4, stage + (sums_at + 2448), as_uint4((float4)(sum_1_0.s2, sum_1_1.s2, sum_1_2.s2, sum_1_3.s2)));
            STORE_LOCAL(uint4, stage + (sums_at + 2584), as_uint4((float4)(sum_1_0.s3, sum_1_1.s3, sum_1_2.s3, sum_1_3.s3)));
        }
        if (band == 1) {
            const uint sum_52 = quotient_16 * 4352 + own_column + ((and_value >> 4) & 3) * 544;
            const uint sums_at_1 = sum_52 + (and_value & 15) * 4;
            STORE_LOCAL(uint4, stage + sums_at_1, as_uint4((float4)(sum_2_0.s0, sum_2_1.s0, sum_2_2.s0, sum_2_3.s0)));
            STORE_LOCAL(uint4, stage + (sums_at_1 + 136), as_uint4((float4)(sum_2_0.s1, sum_2_1.s1, sum_2_2.s1, sum_2_3.s1)));
            STORE_LOCAL(uint4, stage + (sums_at_1 + 272), as_uint4((float4)(sum_2_0.s2, sum_2_1.s2, sum_2_2.s2, sum_2_3.s2)));
            STORE_LOCAL(uint4, stage + (sums_at_1 + 408), as_uint4((float4)(sum_2_0.s3, sum_2_1.s3, sum_2_2.s3, sum_2_3.s3)));
            STORE_LOCAL(uint4, stage + (sums_at_1 + 2176), as_uint4((float4)(sum_3_0.s0, sum_3_1.s0, sum_3_2.s0, sum_3_3.s0)));
            STORE_LOCAL(uint4, stage + (sums_at_1 + 2312), as_uint4((float4)(sum_3_0.s1, sum_3_1.s1, sum_3_2.s1, sum_3_3.s1)));
            STORE_LOCAL(uint4, stage + (sums_at_1 + 2448), as_uint4((float4)(sum_3_0.s2, sum_3_1.s2, sum_3_2.s2, sum_3_3.s2)));
            STORE_LOCAL(uint4, stage + (sums_at_1 + 2584), as_uint4((float4)(sum_3_0.s3, sum_3_1.s3, sum_3_2.s3, sum_3_3.s3)));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_27 = band * 32;
        for (uint unit = item; unit < 1024; unit += 256) {
            const uint quotient_21 = unit / 16;
            const uint product_28 = unit % 16 * 8;
            const float8 bits_16 = as_float8(LOAD_LOCAL(uint8, stage + (quotient_21 * 136 + product_28)));
            const uint sum_63 = row + quotient_21 / 32 * 64 + product_27 + quotient_21 % 32;
            const uint sum_64 = column + product_28;
            if (sum_63 < m && sum_64 < n) {
                vstore_half8_rte(bits_16, 0, y + (quotient * y_stride0 + sum_63 * y_stride1 + sum_64 / 8) * 8);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
