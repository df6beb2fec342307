/* y = a @ b    c64, in c64, tiles of 64 x 64 x 8 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

/* a * b + c, with two fused operations a part. */
static inline float4 complex_fma_float4(const float4 a, const float4 b, const float4 c)
{
    const float2 re = fma(-a.odd, b.odd, fma(a.even, b.even, c.even));
    const float2 im = fma(a.odd, b.even, fma(a.even, b.odd, c.odd));
    float4 z;
    z.even = re;
    z.odd = im;
    return z;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void contract(const uint m,
              const uint n,
              const uint k,
              const uint per,
              const uint tiles_down,
              const uint tiles_across,
              __global const float2 *restrict a_buffer,
              const ulong a_offset,
              const uint a_stride0,
              __global const float2 *restrict b_buffer,
              const ulong b_offset,
              const uint b_stride0,
              __global float2 *restrict y_buffer,
              const ulong y_offset,
              const uint y_stride0,
              const uint y_stride1)
{
    __global const float2 *a = AT(a_buffer, a_offset);
    __global const float2 *b = AT(b_buffer, b_offset);
    __global float2 *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint item = get_local_id(0);
    const uint quotient = group / tiles_down;
    const uint quotient_1 = quotient / tiles_across;
    const uint row = group % tiles_down * 64;
    const uint column = quotient % tiles_across * 64;
    const uint begin = quotient_1 * per;
    const uint difference = k - begin;
    const uint count = min(difference, per);
    const uint steps = (count + 7) / 8;
    const uint ragged = count - (steps - 1) * 8;
    __local float2 stage[2112] __attribute__((aligned(16)));
    const uint rest_2 = item % 4;
    const uint a_k = rest_2 * 2;
    const uint a_own = item / 4;
    const uint difference_2 = m - 1;
    const uint sum_1 = row + a_own;
    const uint a_row = min(sum_1, difference_2) * a_stride0;
    float4 a_held = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    const uint sum_2 = item + 128;
    const uint rest_3 = sum_2 % 4;
    const uint a_k_1 = rest_3 * 2;
    const uint a_own_1 = sum_2 / 4;
    const uint sum_3 = row + a_own_1;
    const uint a_row_1 = min(sum_3, difference_2) * a_stride0;
    float4 a_held_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    const uint b_own = item % 32 * 2;
    const uint b_k = item / 32;
    const uint difference_3 = n - 2;
    const uint sum_4 = column + b_own;
    const uint quotient_2 = min(sum_4, difference_3) / 2;
    float4 b_held = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    const uint b_own_1 = sum_2 % 32 * 2;
    const uint b_k_1 = sum_2 / 32;
    const uint sum_5 = column + b_own_1;
    const uint quotient_3 = min(sum_5, difference_3) / 2;
    float4 b_held_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    if (a_k < ragged) {
        const float4 a_i = LOAD(float4, a + (a_row + (begin + a_k) / 2) * 2);
        a_held = a_i;
    }
    if (a_k_1 < ragged) {
        const float4 a_i_1 = LOAD(float4, a + (a_row_1 + (begin + a_k_1) / 2) * 2);
        a_held_1 = a_i_1;
    }
    if (b_k < ragged) {
        const float4 b_i = LOAD(float4, b + ((begin + b_k) * b_stride0 + quotient_2) * 2);
        b_held = b_i;
    }
    if (b_k_1 < ragged) {
        const float4 b_i_1 = LOAD(float4, b + ((begin + b_k_1) * b_stride0 + quotient_3) * 2);
        b_held_1 = b_i_1;
    }
    const uint sum_10 = rest_2 * 132 + a_own;
    stage[sum_10] = a_held.s01;
    stage[sum_10 + 66] = a_held.s23;
    const uint sum_12 = rest_3 * 132 + a_own_1;
    stage[sum_12] = a_held_1.s01;
    stage[sum_12 + 66] = a_held_1.s23;
    const uint sum_14 = b_k * 66 + b_own;
    STORE_LOCAL(float4, stage + (sum_14 + 528), b_held);
    const uint sum_16 = b_k_1 * 66 + b_own_1;
    STORE_LOCAL(float4, stage + (sum_16 + 528), b_held_1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint shr_value = item >> 5;
    const uint and_value = item & 31;
    const uint product_7 = ((and_value >> 4) * 2 + (and_value & 1)) * 2;
    const uint own_row = shr_value / 2 * 32 + product_7;
    const uint own_column = shr_value % 2 * 32 + ((and_value >> 1) & 7) * 2;
    float4 acc_0_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_0_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_1_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_1_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_2_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_2_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_3_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_3_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_4_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_4_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_5_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_5_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_6_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_6_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_7_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 acc_7_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    const uint sum_19 = own_row + 8;
    const uint sum_20 = own_row + 16;
    const uint sum_21 = own_row + 24;
    const uint sum_22 = own_column + 16;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_23 = step_1 + 1;
        const bool is_less_4 = sum_23 < steps;
        if (is_less_4) {
            const uint next = begin + ragged + step_1 * 8;
            const float4 a_i_2 = LOAD(float4, a + (a_row + (next + a_k) / 2) * 2);
            a_held = a_i_2;
            const float4 a_i_3 = LOAD(float4, a + (a_row_1 + (next + a_k_1) / 2) * 2);
            a_held_1 = a_i_3;
            const float4 b_i_2 = LOAD(float4, b + ((next + b_k) * b_stride0 + quotient_2) * 2);
            b_held = b_i_2;
            const float4 b_i_3 = LOAD(float4, b + ((next + b_k_1) * b_stride0 + quotient_3) * 2);
            b_held_1 = b_i_3;
        }
        const uint product_11 = (step_1 & 1) * 1056;
        const uint sum_29 = product_11 + 528;
        #pragma unroll 8
        for (uint i = 0; i < 8; ++i) {
            const uint product_12 = i * 66;
            const uint sum_30 = product_11 + product_12;
            const float4 stage_value = LOAD_LOCAL(float4, stage + (sum_30 + own_row));
            const float4 stage_value_1 = LOAD_LOCAL(float4, stage + (sum_30 + sum_19));
            const float4 stage_value_2 = LOAD_LOCAL(float4, stage + (sum_30 + sum_20));
            const float4 stage_value_3 = LOAD_LOCAL(float4, stage + (sum_30 + sum_21));
            const uint sum_35 = sum_29 + product_12;
            const float4 stage_value_4 = LOAD_LOCAL(float4, stage + (sum_35 + own_column));
            const float4 stage_value_5 = LOAD_LOCAL(float4, stage + (sum_35 + sum_22));
            const float4 repeated = (float4)(stage_value.s01, stage_value.s01);
            acc_0_0 = complex_fma_float4(repeated, stage_value_4, acc_0_0);
            acc_0_1 = complex_fma_float4(repeated, stage_value_5, acc_0_1);
            const float4 repeated_1 = (float4)(stage_value.s23, stage_value.s23);
            acc_1_0 = complex_fma_float4(repeated_1, stage_value_4, acc_1_0);
            acc_1_1 = complex_fma_float4(repeated_1, stage_value_5, acc_1_1);
            const float4 repeated_2 = (float4)(stage_value_1.s01, stage_value_1.s01);
            acc_2_0 = complex_fma_float4(repeated_2, stage_value_4, acc_2_0);
            acc_2_1 = complex_fma_float4(repeated_2, stage_value_5, acc_2_1);
            const float4 repeated_3 = (float4)(stage_value_1.s23, stage_value_1.s23);
            acc_3_0 = complex_fma_float4(repeated_3, stage_value_4, acc_3_0);
            acc_3_1 = complex_fma_float4(repeated_3, stage_value_5, acc_3_1);
            const float4 repeated_4 = (float4)(stage_value_2.s01, stage_value_2.s01);
            acc_4_0 = complex_fma_float4(repeated_4, stage_value_4, acc_4_0);
            acc_4_1 = complex_fma_float4(repeated_4, stage_value_5, acc_4_1);
            const float4 repeated_5 = (float4)(stage_value_2.s23, stage_value_2.s23);
            acc_5_0 = complex_fma_float4(repeated_5, stage_value_4, acc_5_0);
            acc_5_1 = complex_fma_float4(repeated_5, stage_value_5, acc_5_1);
            const float4 repeated_6 = (float4)(stage_value_3.s01, stage_value_3.s01);
            acc_6_0 = complex_fma_float4(repeated_6, stage_value_4, acc_6_0);
            acc_6_1 = complex_fma_float4(repeated_6, stage_value_5, acc_6_1);
            const float4 repeated_7 = (float4)(stage_value_3.s23, stage_value_3.s23);
            acc_7_0 = complex_fma_float4(repeated_7, stage_value_4, acc_7_0);
            acc_7_1 = complex_fma_float4(repeated_7, stage_value_5, acc_7_1);
        }
        if (is_less_4) {
            const uint product_13 = (sum_23 & 1) * 1056;
            const uint sum_38 = sum_10 + product_13;
            stage[sum_38] = a_held.s01;
            stage[sum_38 + 66] = a_held.s23;
            const uint sum_40 = sum_12 + product_13;
            stage[sum_40] = a_held_1.s01;
            stage[sum_40 + 66] = a_held_1.s23;
            const uint sum_42 = product_13 + 528;
            STORE_LOCAL(float4, stage + (sum_14 + sum_42), b_held);
            STORE_LOCAL(float4, stage + (sum_16 + sum_42), b_held_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const uint band_row = own_row / 32 * 8 + own_row % 8;
    for (uint band = 0; band < 4; ++band) {
        if (band == 0) {
            const uint sum_45 = band_row * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_45, acc_0_0);
            STORE_LOCAL(float4, stage + (sum_45 + 16), acc_0_1);
            const uint sum_48 = (band_row + 1) * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_48, acc_1_0);
            STORE_LOCAL(float4, stage + (sum_48 + 16), acc_1_1);
        }
        if (band == 1) {
            const uint sum_50 = band_row * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_50, acc_2_0);
            STORE_LOCAL(float4, stage + (sum_50 + 16), acc_2_1);
            const uint sum_53 = (band_row + 1) * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_53, acc_3_0);
            STORE_LOCAL(float4, stage + (sum_53 + 16), acc_3_1);
        }
        if (band == 2) {
            const uint sum_55 = band_row * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_55, acc_4_0);
            STORE_LOCAL(float4, stage + (sum_55 + 16), acc_4_1);
            const uint sum_58 = (band_row + 1) * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_58, acc_5_0);
            STORE_LOCAL(float4, stage + (sum_58 + 16), acc_5_1);
        }
        if (band == 3) {
            const uint sum_60 = band_row * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_60, acc_6_0);
            STORE_LOCAL(float4, stage + (sum_60 + 16), acc_6_1);
            const uint sum_63 = (band_row + 1) * 66 + own_column;
            STORE_LOCAL(float4, stage + sum_63, acc_7_0);
            STORE_LOCAL(float4, stage + (sum_63 + 16), acc_7_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_23 = band * 8;
        for (uint unit = item; unit < 512; unit += 128) {
            const uint quotient_10 = unit / 32;
            const uint product_25 = unit % 32 * 2;
            const float4 stage_value_6 = LOAD_LOCAL(float4, stage + (quotient_10 * 66 + product_25));
            const uint sum_68 = row + quotient_10 / 8 * 32 + product_23 + quotient_10 % 8;
            const uint sum_69 = column + product_25;
            if (sum_68 < m && sum_69 < n) {
                STORE(float4, y + (quotient_1 * y_stride0 + sum_68 * y_stride1 + sum_69 / 2) * 2, stage_value_6);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
