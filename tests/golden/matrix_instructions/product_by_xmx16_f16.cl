/* y = a @ b    f16, in f32, by matrix instructions, tiles of 128 x 64 x 32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* An 8 x 16 matrix of halves times a 16 x 16 one is added to sums. */
static inline float8 xmx16_f16(const ushort8 a, const uint8 b, const float8 sums)
{
    return intel_sub_group_f16_f16_matrix_mad_k16(as_short8(a), as_int8(b), sums);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) __attribute__((intel_reqd_sub_group_size(16)))
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
    __local uint stage[9216] __attribute__((aligned(32)));
    const uint product = tiles_down * tiles_across;
    const uint rest = group % product;
    const uint quotient = group / product;
    const uint product_1 = raster * tiles_across;
    const uint product_2 = rest / product_1 * raster;
    const uint rest_1 = rest % product_1;
    const uint difference = tiles_down - product_2;
    const uint smaller = min(difference, raster);
    const uint row = (product_2 + rest_1 % smaller) * 128;
    const uint column = rest_1 / smaller * 64;
    const uint begin = quotient * per;
    const uint difference_1 = k - begin;
    const uint count = min(difference_1, per);
    const uint steps = (count + 31) / 32;
    const uint quotient_3 = item / 4;
    const uint a_k = item % 4 * 8;
    const uint quotient_4 = a_k / 2;
    const uint a_to = (quotient_4 / 8 * 128 + quotient_3) * 8 + quotient_4 % 8;
    const uint sum_3 = row + quotient_3;
    const uint difference_2 = m - 1;
    const uint a_row = min(sum_3, difference_2) * a_stride0;
    const uint sum_4 = item + 128;
    const uint quotient_6 = sum_4 / 4;
    const uint a_k_1 = sum_4 % 4 * 8;
    const uint quotient_7 = a_k_1 / 2;
    const uint a_to_1 = (quotient_7 / 8 * 128 + quotient_6) * 8 + quotient_7 % 8;
    const uint sum_6 = row + quotient_6;
    const uint a_row_1 = min(sum_6, difference_2) * a_stride0;
    const uint sum_7 = item + 256;
    const uint quotient_9 = sum_7 / 4;
    const uint a_k_2 = sum_7 % 4 * 8;
    const uint quotient_10 = a_k_2 / 2;
    const uint a_to_2 = (quotient_10 / 8 * 128 + quotient_9) * 8 + quotient_10 % 8;
    const uint sum_9 = row + quotient_9;
    const uint a_row_2 = min(sum_9, difference_2) * a_stride0;
    const uint sum_10 = item + 384;
    const uint quotient_12 = sum_10 / 4;
    const uint a_k_3 = sum_10 % 4 * 8;
    const uint quotient_13 = a_k_3 / 2;
    const uint a_to_3 = (quotient_13 / 8 * 128 + quotient_12) * 8 + quotient_13 % 8;
    const uint sum_12 = row + quotient_12;
    const uint a_row_3 = min(sum_12, difference_2) * a_stride0;
    const uint b_k = item / 8 * 2;
    const uint product_11 = item % 8 * 8;
    const uint quotient_16 = b_k / 2;
    const uint sum_14 = (quotient_16 / 8 * 8 + quotient_16 % 8) * 72 + product_11;
    const uint b_to = sum_14 + 2048;
    const uint sum_15 = column + product_11;
    const uint difference_3 = n - 8;
    const uint quotient_18 = min(sum_15, difference_3) / 8;
    const uint shr_value = item >> 4;
    const uint and_value = item & 15;
    const uint quotient_19 = shr_value / 2;
    const uint own_column = shr_value % 2 * 32;
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
    uint4 a_held_2 = (uint4)(0);
    uint4 a_held_3 = (uint4)(0);
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
    if (a_k_2 < ragged) {
        const uint4 a_i_2 = LOAD(uint4, a + (a_row_2 + (begin + a_k_2) / 8) * 4);
        a_held_2 = a_i_2;
    }
    if (a_k_3 < ragged) {
        const uint4 a_i_3 = LOAD(uint4, a + (a_row_3 + (begin + a_k_3) / 8) * 4);
        a_held_3 = a_i_3;
    }
    if (b_k < ragged) {
        const uint4 b_i = LOAD(uint4, b + ((begin + b_k) * b_stride0 + quotient_18) * 4);
        b_held = b_i;
    }
    const uint sum_21 = b_k + 1;
    if (sum_21 < ragged) {
        const uint4 b_i_1 = LOAD(uint4, b + ((begin + sum_21) * b_stride0 + quotient_18) * 4);
        b_held_1 = b_i_1;
    }
    STORE_LOCAL(uint4, stage + a_to, a_held);
    STORE_LOCAL(uint4, stage + a_to_1, a_held_1);
    STORE_LOCAL(uint4, stage + a_to_2, a_held_2);
    STORE_LOCAL(uint4, stage + a_to_3, a_held_3);
    const uint4 or_value = (b_held & 65535) | (b_held_1 << 16);
    const uint4 or_value_1 = (b_held >> 16) | (b_held_1 & 4294901760u);
    STORE_LOCAL(uint4, stage + b_to, (uint4)(or_value.s0, or_value_1.s0, or_value.s1, or_value_1.s1));
    STORE_LOCAL(uint4, stage + (sum_14 + 2052), (uint4)(or_value.s2, or_value_1.s2, or_value.s3, or_value_1.s3));
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum_24 = quotient_19 * 256 + (and_value >> 1);
    const uint sum_25 = own_column + and_value * 2;
    const uint product_17 = (and_value & 1) * 16;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_26 = step_1 + 1;
        const bool is_less_6 = sum_26 < steps;
        if (is_less_6) {
            const uint next = begin + ragged + step_1 * 32;
            const uint4 a_i_4 = LOAD(uint4, a + (a_row + (next + a_k) / 8) * 4);
            a_held = a_i_4;
            const uint4 a_i_5 = LOAD(uint4, a + (a_row_1 + (next + a_k_1) / 8) * 4);
            a_held_1 = a_i_5;
            const uint4 a_i_6 = LOAD(uint4, a + (a_row_2 + (next + a_k_2) / 8) * 4);
            a_held_2 = a_i_6;
            const uint4 a_i_7 = LOAD(uint4, a + (a_row_3 + (next + a_k_3) / 8) * 4);
            a_held_3 = a_i_7;
            const uint4 b_i_2 = LOAD(uint4, b + ((next + b_k) * b_stride0 + quotient_18) * 4);
            b_held = b_i_2;
            const uint4 b_i_3 = LOAD(uint4, b + ((next + sum_21) * b_stride0 + quotient_18) * 4);
            b_held_1 = b_i_3;
        }
        const uint product_19 = (step_1 & 1) * 3200;
        const ulong a_at = (ulong)(product_19 + sum_24);
        const ulong b_at = (ulong)(product_19 + 2048 + sum_25);
        #pragma unroll 2
        for (ulong chunk = 0; chunk < 2; ++chunk) {
            const ulong product_20 = chunk * 576;
            const uint2 b_part = LOAD_LOCAL(uint2, stage + (b_at + product_20));
            const uint2 b_part_1 = LOAD_LOCAL(uint2, stage + (b_at + (product_20 + 72)));
            const uint2 b_part_2 = LOAD_LOCAL(uint2, stage + (b_at + (product_20 + 144)));
            const uint2 b_part_3 = LOAD_LOCAL(uint2, stage + (b_at + (product_20 + 216)));
            const uint2 b_part_4 = LOAD_LOCAL(uint2, stage + (b_at + (product_20 + 288)));
            const uint2 b_part_5 = LOAD_LOCAL(uint2, stage + (b_at + (product_20 + 360)));
            const uint2 b_part_6 = LOAD_LOCAL(uint2, stage + (b_at + (product_20 + 432)));
            const uint2 b_part_7 = LOAD_LOCAL(uint2, stage + (b_at + (product_20 + 504)));
            const ulong product_21 = chunk * 1024;
            const uint a_part = stage[a_at + product_21];
            const uint a_part_1 = stage[a_at + (product_21 + 8)];
            const uint a_part_2 = stage[a_at + (product_21 + 16)];
            const uint a_part_3 = stage[a_at + (product_21 + 24)];
            const uint a_part_4 = stage[a_at + (product_21 + 32)];
            const uint a_part_5 = stage[a_at + (product_21 + 40)];
            const uint a_part_6 = stage[a_at + (product_21 + 48)];
            const uint a_part_7 = stage[a_at + (product_21 + 56)];
            const uint a_part_8 = stage[a_at + (product_21 + 64)];
            const uint a_part_9 = stage[a_at + (product_21 + 72)];
            const uint a_part_10 = stage[a_at + (product_21 + 80)];
            const uint a_part_11 = stage[a_at + (product_21 + 88)];
            const uint a_part_12 = stage[a_at + (product_21 + 96)];
            const uint a_part_13 = stage[a_at + (product_21 + 104)];
            const uint a_part_14 = stage[a_at + (product_21 + 112)];
            const uint a_part_15 = stage[a_at + (product_21 + 120)];
            const uint a_part_16 = stage[a_at + (product_21 + 128)];
            const uint a_part_17 = stage[a_at + (product_21 + 136)];
            const uint a_part_18 = stage[a_at + (product_21 + 144)];
            const uint a_part_19 = stage[a_at + (product_21 + 152)];
            const uint a_part_20 = stage[a_at + (product_21 + 160)];
            const uint a_part_21 = stage[a_at + (product_21 + 168)];
            const uint a_part_22 = stage[a_at + (product_21 + 176)];
            const uint a_part_23 = stage[a_at + (product_21 + 184)];
            const uint a_part_24 = stage[a_at + (product_21 + 192)];
            const uint a_part_25 = stage[a_at + (product_21 + 200)];
            const uint a_part_26 = stage[a_at + (product_21 + 208)];
            const uint a_part_27 = stage[a_at + (product_21 + 216)];
            const uint a_part_28 = stage[a_at + (product_21 + 224)];
            const uint a_part_29 = stage[a_at + (product_21 + 232)];
            const uint a_part_30 = stage[a_at + (product_21 + 240)];
            const uint a_part_31 = stage[a_at + (product_21 + 248)];
            const ushort converted_2 = (ushort)(product_17 < 32 ? a_part_2 >> product_17 : 0);
            const ushort converted_3 = (ushort)(product_17 < 32 ? a_part_3 >> product_17 : 0);
            const ushort converted_4 = (ushort)(product_17 < 32 ? a_part_4 >> product_17 : 0);
            const ushort converted_5 = (ushort)(product_17 < 32 ? a_part_5 >> product_17 : 0);
            const ushort converted_6 = (ushort)(product_17 < 32 ? a_part_6 >> product_17 : 0);
            const ushort converted_7 = (ushort)(product_17 < 32 ? a_part_7 >> product_17 : 0);
            const ushort8 joined_2 = (ushort8)((ushort)(product_17 < 32 ? a_part >> product_17 : 0), (ushort)(product_17 < 32 ? a_part_1 >> product_17 : 0), converted_2, converted_3, converted_4, converted_5, converted_6, converted_7);
            const uint8 joined_3 = (uint8)(b_part.s0, b_part_1.s0, b_part_2.s0, b_part_3.s0, b_part_4.s0, b_part_5.s0, b_part_6.s0, b_part_7.s0);
            const float8 sums = xmx16_f16(joined_2, joined_3, sum_0_0);
            sum_0_0 = sums;
            const uint8 joined_4 = (uint8)(b_part.s1, b_part_1.s1, b_part_2.s1, b_part_3.s1, b_part_4.s1, b_part_5.s1, b_part_6.s1, b_part_7.s1);
            const float8 sums_1 = xmx16_f16(joined_2, joined_4, sum_0_1);
            sum_0_1 = sums_1;
            const ushort converted_10 = (ushort)(product_17 < 32 ? a_part_10 >> product_17 : 0);
            const ushort converted_11 = (ushort)(product_17 < 32 ? a_part_11 >> product_17 : 0);
            const ushort converted_12 = (ushort)(product_17 < 32 ? a_part_12 >> product_17 : 0);
            const ushort converted_13 = (ushort)(product_17 < 32 ? a_part_13 >> product_17 : 0);
            const ushort converted_14 = (ushort)(product_17 < 32 ? a_part_14 >> product_17 : 0);
            const ushort converted_15 = (ushort)(product_17 < 32 ? a_part_15 >> product_17 : 0);
            const ushort8 joined_5 = (ushort8)((ushort)(product_17 < 32 ? a_part_8 >> product_17 : 0), (ushort)(product_17 < 32 ? a_part_9 >> product_17 : 0), converted_10, converted_11, converted_12, converted_13, converted_14, converted_15);
            const float8 sums_2 = xmx16_f16(joined_5, joined_3, sum_1_0);
            sum_1_0 = sums_2;
            const float8 sums_3 = xmx16_f16(joined_5, joined_4, sum_1_1);
            sum_1_1 = sums_3;
            const ushort converted_18 = (ushort)(product_17 < 32 ? a_part_18 >> product_17 : 0);
            const ushort converted_19 = (ushort)(product_17 < 32 ? a_part_19 >> product_17 : 0);
            const ushort converted_20 = (ushort)(product_17 < 32 ? a_part_20 >> product_17 : 0);
            const ushort converted_21 = (ushort)(product_17 < 32 ? a_part_21 >> product_17 : 0);
            const ushort converted_22 = (ushort)(product_17 < 32 ? a_part_22 >> product_17 : 0);
            const ushort converted_23 = (ushort)(product_17 < 32 ? a_part_23 >> product_17 : 0);
            const ushort8 joined_6 = (ushort8)((ushort)(product_17 < 32 ? a_part_16 >> product_17 : 0), (ushort)(product_17 < 32 ? a_part_17 >> product_17 : 0), converted_18, converted_19, converted_20, converted_21, converted_22, converted_23);
            const float8 sums_4 = xmx16_f16(joined_6, joined_3, sum_2_0);
            sum_2_0 = sums_4;
            const float8 sums_5 = xmx16_f16(joined_6, joined_4, sum_2_1);
            sum_2_1 = sums_5;
            const ushort converted_26 = (ushort)(product_17 < 32 ? a_part_26 >> product_17 : 0);
            const ushort converted_27 = (ushort)(product_17 < 32 ? a_part_27 >> product_17 : 0);
            const ushort converted_28 = (ushort)(product_17 < 32 ? a_part_28 >> product_17 : 0);
            const ushort converted_29 = (ushort)(product_17 < 32 ? a_part_29 >> product_17 : 0);
            const ushort converted_30 = (ushort)(product_17 < 32 ? a_part_30 >> product_17 : 0);
            const ushort converted_31 = (ushort)(product_17 < 32 ? a_part_31 >> product_17 : 0);
            const ushort8 joined_7 = (ushort8)((ushort)(product_17 < 32 ? a_part_24 >> product_17 : 0), (ushort)(product_17 < 32 ? a_part_25 >> product_17 : 0), converted_26, converted_27, converted_28, converted_29, converted_30, converted_31);
            const float8 sums_6 = xmx16_f16(joined_7, joined_3, sum_3_0);
            sum_3_0 = sums_6;
            const float8 sums_7 = xmx16_f16(joined_7, joined_4, sum_3_1);
            sum_3_1 = sums_7;
        }
        if (is_less_6) {
            const uint product_22 = (sum_26 & 1) * 3200;
            STORE_LOCAL(uint4, stage + (a_to + product_22), a_held);
            STORE_LOCAL(uint4, stage + (a_to_1 + product_22), a_held_1);
            STORE_LOCAL(uint4, stage + (a_to_2 + product_22), a_held_2);
            STORE_LOCAL(uint4, stage + (a_to_3 + product_22), a_held_3);
            const uint sum_119 = b_to + product_22;
            const uint4 or_value_2 = (b_held & 65535) | (b_held_1 << 16);
            const uint4 or_value_3 = (b_held >> 16) | (b_held_1 & 4294901760u);
            STORE_LOCAL(uint4, stage + sum_119, (uint4)(or_value_2.s0, or_value_3.s0, or_value_2.s1, or_value_3.s1));
            STORE_LOCAL(uint4, stage + (sum_119 + 4), (uint4)(or_value_2.s2, or_value_3.s2, or_value_2.s3, or_value_3.s3));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const uint sums_at = quotient_19 * 2304 + own_column + (and_value & 15) * 2;
    STORE_LOCAL(uint2, stage + sums_at, as_uint2((float2)(sum_0_0.s0, sum_0_1.s0)));
    STORE_LOCAL(uint2, stage + (sums_at + 72), as_uint2((float2)(sum_0_0.s1, sum_0_1.s1)));
    STORE_LOCAL(uint2, stage + (sums_at + 144), as_uint2((float2)(sum_0_0.s2, sum_0_1.s2)));
    STORE_LOCAL(uint2, stage + (sums_at + 216), as_uint2((float2)(sum_0_0.s3, sum_0_1.s3)));
    STORE_LOCAL(uint2, stage + (sums_at + 288), as_uint2((float2)(sum_0_0.s4, sum_0_1.s4)));
    STORE_LOCAL(uint2, stage + (sums_at + 360), as_uint2((float2)(sum_0_0.s5, sum_0_1.s5)));
    STORE_LOCAL(uint2, stage + (sums_at + 432), as_uint2((float2)(sum_0_0.s6, sum_0_1.s6)));
    STORE_LOCAL(uint2, stage + (sums_at + 504), as_uint2((float2)(sum_0_0.s7, sum_0_1.s7)));
    STORE_LOCAL(uint2, stage + (sums_at + 576), as_uint2((float2)(sum_1_0.s0, sum_1_1.s0)));
    STORE_LOCAL(uint2, stage + (sums_at + 648), as_uint2((float2)(sum_1_0.s1, sum_1_1.s1)));
    STORE_LOCAL(uint2, stage + (sums_at + 720), as_uint2((float2)(sum_1_0.s2, sum_1_1.s2)));
    STORE_LOCAL(uint2, stage + (sums_at + 792), as_uint2((float2)(sum_1_0.s3, sum_1_1.s3)));
    STORE_LOCAL(uint2, stage + (sums_at + 864), as_uint2((float2)(sum_1_0.s4, sum_1_1.s4)));
    STORE_LOCAL(uint2, stage + (sums_at + 936), as_uint2((float2)(sum_1_0.s5, sum_1_1.s5)));
    STORE_LOCAL(uint2, stage + (sums_at + 1008), as_uint2((float2)(sum_1_0.s6, sum_1_1.s6)));
    STORE_LOCAL(uint2, stage + (sums_at + 1080), as_uint2((float2)(sum_1_0.s7, sum_1_1.s7)));
    STORE_LOCAL(uint2, stage + (sums_at + 1152), as_uint2((float2)(sum_2_0.s0, sum_2_1.s0)));
    STORE_LOCAL(uint2, stage + (sums_at + 1224), as_uint2((float2)(sum_2_0.s1, sum_2_1.s1)));
    STORE_LOCAL(uint2, stage + (sums_at + 1296), as_uint2((float2)(sum_2_0.s2, sum_2_1.s2)));
    STORE_LOCAL(uint2, stage + (sums_at + 1368), as_uint2((float2)(sum_2_0.s3, sum_2_1.s3)));
    STORE_LOCAL(uint2, stage + (sums_at + 1440), as_uint2((float2)(sum_2_0.s4, sum_2_1.s4)));
    STORE_LOCAL(uint2, stage + (sums_at + 1512), as_uint2((float2)(sum_2_0.s5, sum_2_1.s5)));
    STORE_LOCAL(uint2, stage + (sums_at + 1584), as_uint2((float2)(sum_2_0.s6, sum_2_1.s6)));
    STORE_LOCAL(uint2, stage + (sums_at + 1656), as_uint2((float2)(sum_2_0.s7, sum_2_1.s7)));
    STORE_LOCAL(uint2, stage + (sums_at + 1728), as_uint2((float2)(sum_3_0.s0, sum_3_1.s0)));
    STORE_LOCAL(uint2, stage + (sums_at + 1800), as_uint2((float2)(sum_3_0.s1, sum_3_1.s1)));
    STORE_LOCAL(uint2, stage + (sums_at + 1872), as_uint2((float2)(sum_3_0.s2, sum_3_1.s2)));
    STORE_LOCAL(uint2, stage + (sums_at + 1944), as_uint2((float2)(sum_3_0.s3, sum_3_1.s3)));
    STORE_LOCAL(uint2, stage + (sums_at + 2016), as_uint2((float2)(sum_3_0.s4, sum_3_1.s4)));
    STORE_LOCAL(uint2, stage + (sums_at + 2088), as_uint2((float2)(sum_3_0.s5, sum_3_1.s5)));
    STORE_LOCAL(uint2, stage + (sums_at + 2160), as_uint2((float2)(sum_3_0.s6, sum_3_1.s6)));
    STORE_LOCAL(uint2, stage + (sums_at + 2232), as_uint2((float2)(sum_3_0.s7, sum_3_1.s7)));
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint unit = item; unit < 1024; unit += 128) {
        const uint quotient_28 = unit / 8;
        const uint product_25 = unit % 8 * 8;
        const float8 bits_32 = as_float8(LOAD_LOCAL(uint8, stage + (quotient_28 * 72 + product_25)));
        const uint sum_155 = row + quotient_28 / 32 * 32 + quotient_28 % 32;
        const uint sum_156 = column + product_25;
        if (sum_155 < m && sum_156 < n) {
            vstore_half8_rte(bits_32, 0, y + (quotient * y_stride0 + sum_155 * y_stride1 + sum_156 / 8) * 8);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
