/* y = a @ b    f16, in f32, by matrix instructions, tiles of 128 x 128 x 32 */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* A 16 x 16 matrix of halves times another one is added to sums. */
static inline float8 wmma_f16(const uint8 a, const uint8 b, const float8 sums)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(as_half16(a), as_half16(b), sums);
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
    const uint rest_4 = quotient_4 % 8;
    const uint product_5 = quotient_3 * 4;
    const uint sum_3 = (quotient_4 / 8 * 2 + rest_4 / 4) * 516 + product_5;
    const uint a_to = sum_3 + rest_4 % 4;
    const uint sum_4 = row + quotient_3;
    const uint difference_2 = m - 1;
    const uint a_row = min(sum_4, difference_2) * a_stride0;
    const uint sum_5 = item + 256;
    const uint quotient_7 = sum_5 / 4;
    const uint a_k_1 = sum_5 % 4 * 8;
    const uint quotient_8 = a_k_1 / 2;
    const uint rest_7 = quotient_8 % 8;
    const uint product_8 = quotient_7 * 4;
    const uint sum_7 = (quotient_8 / 8 * 2 + rest_7 / 4) * 516 + product_8;
    const uint a_to_1 = sum_7 + rest_7 % 4;
    const uint sum_8 = row + quotient_7;
    const uint a_row_1 = min(sum_8, difference_2) * a_stride0;
    const uint b_k = item / 16 * 2;
    const uint product_9 = item % 16 * 8;
    const uint quotient_12 = b_k / 2;
    const uint sum_10 = (quotient_12 / 8 * 8 + quotient_12 % 8) * 136 + product_9;
    const uint b_to = sum_10 + 2064;
    const uint sum_11 = column + product_9;
    const uint difference_3 = n - 8;
    const uint quotient_14 = min(sum_11, difference_3) / 8;
    const uint shr_value = item >> 5;
    const uint and_value = item & 31;
    const uint quotient_15 = shr_value / 4;
    const uint own_row = quotient_15 * 64;
    const uint own_column = shr_value % 4 * 32;
    float8 sum_0_0 = (float8)(0.0f);
    float8 sum_0_1 = (float8)(0.0f);
    float8 sum_1_0 = (float8)(0.0f);
    float8 sum_1_1 = (float8)(0.0f);
    float8 sum_2_0 = (float8)(0.0f);
    float8 sum_2_1 = (float8)(0.0f);
    float8 sum_3_0 = (float8)(0.0f);
    float8 sum_3_1 = (float8)(0.0f);
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
        const uint4 b_i = LOAD(uint4, b + ((begin + b_k) * b_stride0 + quotient_14) * 4);
        b_held = b_i;
    }
    const uint sum_15 = b_k + 1;
    if (sum_15 < ragged) {
        const uint4 b_i_1 = LOAD(uint4, b + ((begin + sum_15) * b_stride0 + quotient_14) * 4);
        b_held_1 = b_i_1;
    }
    STORE_LOCAL(uint4, stage + a_to, a_held);
    STORE_LOCAL(uint4, stage + a_to_1, a_held_1);
    const uint4 or_value = (b_held & 65535) | (b_held_1 << 16);
    const uint4 or_value_1 = (b_held >> 16) | (b_held_1 & 4294901760u);
    STORE_LOCAL(uint4, stage + b_to, (uint4)(or_value.s0, or_value_1.s0, or_value.s1, or_value_1.s1));
    STORE_LOCAL(uint4, stage + (sum_10 + 2068), (uint4)(or_value.s2, or_value_1.s2, or_value.s3, or_value_1.s3));
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint and_value_3 = and_value & 15;
    const uint product_13 = (own_row + and_value_3) * 4;
    const uint sum_19 = own_column + and_value_3 * 2;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_20 = step_1 + 1;
        const bool is_less_4 = sum_20 < steps;
        if (is_less_4) {
            const uint next = begin + ragged + step_1 * 32;
            const uint4 a_i_2 = LOAD(uint4, a + (a_row + (next + a_k) / 8) * 4);
            a_held = a_i_2;
            const uint4 a_i_3 = LOAD(uint4, a + (a_row_1 + (next + a_k_1) / 8) * 4);
            a_held_1 = a_i_3;
            const uint4 b_i_2 = LOAD(uint4, b + ((next + b_k) * b_stride0 + quotient_14) * 4);
            b_held = b_i_2;
            const uint4 b_i_3 = LOAD(uint4, b + ((next + sum_15) * b_stride0 + quotient_14) * 4);
            b_held_1 = b_i_3;
        }
        const uint product_16 = (step_1 & 1) * 4240;
        const ulong a_at = (ulong)(product_16 + product_13);
        const ulong b_at = (ulong)(product_16 + 2064 + sum_19);
        #pragma unroll 2
        for (ulong chunk = 0; chunk < 2; ++chunk) {
            const ulong product_17 = chunk * 1088;
            const uint2 b_part = LOAD_LOCAL(uint2, stage + (b_at + product_17));
            const uint2 b_part_1 = LOAD_LOCAL(uint2, stage + (b_at + (product_17 + 136)));
            const uint2 b_part_2 = LOAD_LOCAL(uint2, stage + (b_at + (product_17 + 272)));
            const uint2 b_part_3 = LOAD_LOCAL(uint2, stage + (b_at + (product_17 + 408)));
            const uint2 b_part_4 = LOAD_LOCAL(uint2, stage + (b_at + (product_17 + 544)));
            const uint2 b_part_5 = LOAD_LOCAL(uint2, stage + (b_at + (product_17 + 680)));
            const uint2 b_part_6 = LOAD_LOCAL(uint2, stage + (b_at + (product_17 + 816)));
            const uint2 b_part_7 = LOAD_LOCAL(uint2, stage + (b_at + (product_17 + 952)));
            const ulong product_18 = chunk * 1032;
            const uint4 a_part = LOAD_LOCAL(uint4, stage + (a_at + product_18));
            const uint4 a_part_1 = LOAD_LOCAL(uint4, stage + (a_at + (product_18 + 516)));
            const uint4 a_part_2 = LOAD_LOCAL(uint4, stage + (a_at + (product_18 + 64)));
            const uint4 a_part_3 = LOAD_LOCAL(uint4, stage + (a_at + (product_18 + 580)));
            const uint8 joined_2 = (uint8)(a_part.s0, a_part.s1, a_part.s2, a_part.s3, a_part_1.s0, a_part_1.s1, a_part_1.s2, a_part_1.s3);
            const uint8 joined_3 = (uint8)(b_part.s0, b_part_1.s0, b_part_2.s0, b_part_3.s0, b_part_4.s0, b_part_5.s0, b_part_6.s0, b_part_7.s0);
            const float8 sums = wmma_f16(joined_2, joined_3, sum_0_0);
            sum_0_0 = sums;
            const uint8 joined_4 = (uint8)(b_part.s1, b_part_1.s1, b_part_2.s1, b_part_3.s1, b_part_4.s1, b_part_5.s1, b_part_6.s1, b_part_7.s1);
            const float8 sums_1 = wmma_f16(joined_2, joined_4, sum_0_1);
            sum_0_1 = sums_1;
            const uint8 joined_5 = (uint8)(a_part_2.s0, a_part_2.s1, a_part_2.s2, a_part_2.s3, a_part_3.s0, a_part_3.s1, a_part_3.s2, a_part_3.s3);
            const float8 sums_2 = wmma_f16(joined_5, joined_3, sum_1_0);
            sum_1_0 = sums_2;
            const float8 sums_3 = wmma_f16(joined_5, joined_4, sum_1_1);
            sum_1_1 = sums_3;
            const uint4 a_part_4 = LOAD_LOCAL(uint4, stage + (a_at + (product_18 + 128)));
            const uint4 a_part_5 = LOAD_LOCAL(uint4, stage + (a_at + (product_18 + 644)));
            const uint4 a_part_6 = LOAD_LOCAL(uint4, stage + (a_at + (product_18 + 192)));
            const uint4 a_part_7 = LOAD_LOCAL(uint4, stage + (a_at + (product_18 + 708)));
            const uint8 joined_6 = (uint8)(a_part_4.s0, a_part_4.s1, a_part_4.s2, a_part_4.s3, a_part_5.s0, a_part_5.s1, a_part_5.s2, a_part_5.s3);
            const float8 sums_4 = wmma_f16(joined_6, joined_3, sum_2_0);
            sum_2_0 = sums_4;
            const float8 sums_5 = wmma_f16(joined_6, joined_4, sum_2_1);
            sum_2_1 = sums_5;
            const uint8 joined_7 = (uint8)(a_part_6.s0, a_part_6.s1, a_part_6.s2, a_part_6.s3, a_part_7.s0, a_part_7.s1, a_part_7.s2, a_part_7.s3);
            const float8 sums_6 = wmma_f16(joined_7, joined_3, sum_3_0);
            sum_3_0 = sums_6;
            const float8 sums_7 = wmma_f16(joined_7, joined_4, sum_3_1);
            sum_3_1 = sums_7;
        }
        if (is_less_4) {
            const uint product_19 = (sum_20 & 1) * 4240;
            STORE_LOCAL(uint4, stage + (a_to + product_19), a_held);
            STORE_LOCAL(uint4, stage + (a_to_1 + product_19), a_held_1);
            const uint sum_61 = b_to + product_19;
            const uint4 or_value_2 = (b_held & 65535) | (b_held_1 << 16);
            const uint4 or_value_3 = (b_held >> 16) | (b_held_1 & 4294901760u);
            STORE_LOCAL(uint4, stage + sum_61, (uint4)(or_value_2.s0, or_value_3.s0, or_value_2.s1, or_value_3.s1));
            STORE_LOCAL(uint4, stage + (sum_61 + 4), (uint4)(or_value_2.s2, or_value_3.s2, or_value_2.s3, or_value_3.s3));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 2; ++band) {
        if (band == 0) {
            const uint sum_64 = quotient_15 * 4352 + own_column + ((and_value >> 4) & 1) * 136;
            const uint sums_at = sum_64 + (and_value & 15) * 2;
            STORE_LOCAL(uint2, stage + sums_at, as_uint2((float2)(sum_0_0.s0, sum_0_1.s0)));
            STORE_LOCAL(uint2, stage + (sums_at + 272), as_uint2((float2)(sum_0_0.s1, sum_0_1.s1)));
            STORE_LOCAL(uint2, stage + (sums_at + 544), as_uint2((float2)(sum_0_0.s2, sum_0_1.s2)));
            STORE_LOCAL(uint2, stage + (sums_at + 816), as_uint2((float2)(sum_0_0.s3, sum_0_1.s3)));
            STORE_LOCAL(uint2, stage + (sums_at + 1088), as_uint2((float2)(sum_0_0.s4, sum_0_1.s4)));
            STORE_LOCAL(uint2, stage + (sums_at + 1360), as_uint2((float2)(sum_0_0.s5, sum_0_1.s5)));
            STORE_LOCAL(uint2, stage + (sums_at + 1632), as_uint2((float2)(sum_0_0.s6, sum_0_1.s6)));
            STORE_LOCAL(uint2, stage + (sums_at + 1904), as_uint2((float2)(sum_0_0.s7, sum_0_1.s7)));
            STORE_LOCAL(uint2, stage + (sums_at + 2176), as_uint2((float2)(sum_1_0.s0, sum_1_1.s0)));
            STORE_LOCAL(uint2, stage + (sums_at + 2448), as_uint2((float2)(sum_1_0.s1, sum_1_1.s1)));
            STORE_LOCAL(uint2, stage + (sums_at + 2720), as_uint2((float2)(sum_1_0.s2, sum_1_1.s2)));
            STORE_LOCAL(uint2, stage + (sums_at + 2992), as_uint2((float2)(sum_1_0.s3, sum_1_1.s3)));
            STORE_LOCAL(uint2, stage + (sums_at + 3264), as_uint2((float2)(sum_1_0.s4, sum_1_1.s4)));
            STORE_LOCAL(uint2, stage + (sums_at + 3536), as_uint2((float2)(sum_1_0.s5, sum_1_1.s5)));
            STORE_LOCAL(uint2, stage + (sums_at + 3808), as_uint2((float2)(sum_1_0.s6, sum_1_1.s6)));
            STORE_LOCAL(uint2, stage + (sums_at + 4080), as_uint2((float2)(sum_1_0.s7, sum_1_1.s7)));
        }
        if (band == 1) {
            const uint sum_81 = quotient_15 * 4352 + own_column + ((and_value >> 4) & 1) * 136;
            const uint sums_at_1 = sum_81 + (and_value & 15) * 2;
            STORE_LOCAL(uint2, stage + sums_at_1, as_uint2((float2)(sum_2_0.s0, sum_2_1.s0)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 272), as_uint2((float2)(sum_2_0.s1, sum_2_1.s1)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 544), as_uint2((float2)(sum_2_0.s2, sum_2_1.s2)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 816), as_uint2((float2)(sum_2_0.s3, sum_2_1.s3)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 1088), as_uint2((float2)(sum_2_0.s4, sum_2_1.s4)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 1360), as_uint2((float2)(sum_2_0.s5, sum_2_1.s5)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 1632), as_uint2((float2)(sum_2_0.s6, sum_2_1.s6)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 1904), as_uint2((float2)(sum_2_0.s7, sum_2_1.s7)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 2176), as_uint2((float2)(sum_3_0.s0, sum_3_1.s0)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 2448), as_uint2((float2)(sum_3_0.s1, sum_3_1.s1)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 2720), as_uint2((float2)(sum_3_0.s2, sum_3_1.s2)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 2992), as_uint2((float2)(sum_3_0.s3, sum_3_1.s3)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 3264), as_uint2((float2)(sum_3_0.s4, sum_3_1.s4)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 3536), as_uint2((float2)(sum_3_0.s5, sum_3_1.s5)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 3808), as_uint2((float2)(sum_3_0.s6, sum_3_1.s6)));
            STORE_LOCAL(uint2, stage + (sums_at_1 + 4080), as_uint2((float2)(sum_3_0.s7, sum_3_1.s7)));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_26 = band * 32;
        for (uint unit = item; unit < 1024; unit += 256) {
            const uint quotient_20 = unit / 16;
            const uint product_27 = unit % 16 * 8;
            const float8 bits_32 = as_float8(LOAD_LOCAL(uint8, stage + (quotient_20 * 136 + product_27)));
            const uint sum_100 = row + quotient_20 / 32 * 64 + product_26 + quotient_20 % 32;
            const uint sum_101 = column + product_27;
            if (sum_100 < m && sum_101 < n) {
                vstore_half8_rte(bits_32, 0, y + (quotient * y_stride0 + sum_100 * y_stride1 + sum_101 / 8) * 8);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
