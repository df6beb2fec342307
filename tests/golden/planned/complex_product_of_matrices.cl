/* y = a @ b    c64, in c64, tiles of 64 x 64 x 4 */
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
              const uint matrices,
              __global const float2 *restrict a_buffer,
              const ulong a_offset,
              const uint a_stride0,
              __global const float2 *restrict b_buffer,
              const ulong b_offset,
              const uint b_stride0,
              const uint per,
              const uint tiles_down,
              const uint tiles_across,
              const uint raster,
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
    __local float2 stage[1088] __attribute__((aligned(32)));
    const uint product = tiles_down * tiles_across;
    const uint rest = group % product;
    const uint quotient = group / product;
    const uint product_1 = raster * tiles_across;
    const uint product_2 = rest / product_1 * raster;
    const uint rest_1 = rest % product_1;
    const uint difference = tiles_down - product_2;
    const uint smaller = min(difference, raster);
    const uint row = (product_2 + rest_1 % smaller) * 64;
    const uint column = rest_1 / smaller * 64;
    const uint begin = quotient * per;
    const uint difference_1 = k - begin;
    const uint count = min(difference_1, per);
    const uint steps = (count + 3) / 4;
    const uint rest_3 = item % 2;
    const uint quotient_3 = item / 2;
    const uint a_k = rest_3 * 2;
    const uint a_to = rest_3 * 132 + quotient_3;
    const uint sum_2 = row + quotient_3;
    const uint difference_2 = m - 1;
    const uint a_row = min(sum_2, difference_2) * a_stride0;
    const uint b_k = item / 32;
    const uint product_4 = item % 32 * 2;
    const uint b_to = b_k * 66 + product_4 + 264;
    const uint sum_4 = column + product_4;
    const uint difference_3 = n - 2;
    const uint quotient_4 = min(sum_4, difference_3) / 2;
    const uint shr_value = item >> 5;
    const uint and_value = item & 31;
    const uint quotient_5 = shr_value / 2;
    const uint product_8 = ((and_value >> 4) * 2 + (and_value & 1)) * 2;
    const uint own_row = quotient_5 * 32 + product_8;
    const uint own_column = shr_value % 2 * 32 + ((and_value >> 1) & 7) * 2;
    const uint band_row = quotient_5 * 8 + product_8;
    float4 sum_0_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_0_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_1_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_1_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_2_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_2_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_3_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_3_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_4_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_4_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_5_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_5_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_6_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_6_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_7_0 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum_7_1 = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    const uint ragged = count - (steps - 1) * 4;
    float4 a_held = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    float4 b_held = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    if (a_k < ragged) {
        const float4 a_i = LOAD(float4, a + (a_row + (begin + a_k) / 2) * 2);
        a_held = a_i;
    }
    if (b_k < ragged) {
        const float4 b_i = LOAD(float4, b + ((begin + b_k) * b_stride0 + quotient_4) * 2);
        b_held = b_i;
    }
    stage[a_to] = a_held.s01;
    stage[a_to + 66] = a_held.s23;
    STORE_LOCAL(float4, stage + b_to, b_held);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum_9 = own_column + 264;
    for (uint step_1 = 0; step_1 < steps; ++step_1) {
        const uint sum_10 = step_1 + 1;
        const bool is_less_2 = sum_10 < steps;
        if (is_less_2) {
            const uint next = begin + ragged + step_1 * 4;
            const float4 a_i_1 = LOAD(float4, a + (a_row + (next + a_k) / 2) * 2);
            a_held = a_i_1;
            const float4 b_i_1 = LOAD(float4, b + ((next + b_k) * b_stride0 + quotient_4) * 2);
            b_held = b_i_1;
        }
        const uint product_14 = (step_1 & 1) * 528;
        const ulong a_at = (ulong)(product_14 + own_row);
        const ulong b_at = (ulong)(product_14 + sum_9);
        #pragma unroll 4
        for (ulong i = 0; i < 4; ++i) {
            const ulong product_15 = i * 66;
            const float4 a_part = LOAD_LOCAL(float4, stage + (a_at + product_15));
            const float4 a_part_1 = LOAD_LOCAL(float4, stage + (a_at + (product_15 + 8)));
            const ulong sum_19 = product_15 + 16;
            const float4 a_part_2 = LOAD_LOCAL(float4, stage + (a_at + sum_19));
            const float4 a_part_3 = LOAD_LOCAL(float4, stage + (a_at + (product_15 + 24)));
            const float4 b_part = LOAD_LOCAL(float4, stage + (b_at + product_15));
            const float4 b_part_1 = LOAD_LOCAL(float4, stage + (b_at + sum_19));
            const float4 repeated = (float4)(a_part.s01, a_part.s01);
            sum_0_0 = complex_fma_float4(repeated, b_part, sum_0_0);
            sum_0_1 = complex_fma_float4(repeated, b_part_1, sum_0_1);
            const float4 repeated_1 = (float4)(a_part.s23, a_part.s23);
            sum_1_0 = complex_fma_float4(repeated_1, b_part, sum_1_0);
            sum_1_1 = complex_fma_float4(repeated_1, b_part_1, sum_1_1);
            const float4 repeated_2 = (float4)(a_part_1.s01, a_part_1.s01);
            sum_2_0 = complex_fma_float4(repeated_2, b_part, sum_2_0);
            sum_2_1 = complex_fma_float4(repeated_2, b_part_1, sum_2_1);
            const float4 repeated_3 = (float4)(a_part_1.s23, a_part_1.s23);
            sum_3_0 = complex_fma_float4(repeated_3, b_part, sum_3_0);
            sum_3_1 = complex_fma_float4(repeated_3, b_part_1, sum_3_1);
            const float4 repeated_4 = (float4)(a_part_2.s01, a_part_2.s01);
            sum_4_0 = complex_fma_float4(repeated_4, b_part, sum_4_0);
            sum_4_1 = complex_fma_float4(repeated_4, b_part_1, sum_4_1);
            const float4 repeated_5 = (float4)(a_part_2.s23, a_part_2.s23);
            sum_5_0 = complex_fma_float4(repeated_5, b_part, sum_5_0);
            sum_5_1 = complex_fma_float4(repeated_5, b_part_1, sum_5_1);
            const float4 repeated_6 = (float4)(a_part_3.s01, a_part_3.s01);
            sum_6_0 = complex_fma_float4(repeated_6, b_part, sum_6_0);
            sum_6_1 = complex_fma_float4(repeated_6, b_part_1, sum_6_1);
            const float4 repeated_7 = (float4)(a_part_3.s23, a_part_3.s23);
            sum_7_0 = complex_fma_float4(repeated_7, b_part, sum_7_0);
            sum_7_1 = complex_fma_float4(repeated_7, b_part_1, sum_7_1);
        }
        if (is_less_2) {
            const uint product_16 = (sum_10 & 1) * 528;
            const uint sum_25 = a_to + product_16;
            stage[sum_25] = a_held.s01;
            stage[sum_25 + 66] = a_held.s23;
            STORE_LOCAL(float4, stage + (b_to + product_16), b_held);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint band = 0; band < 4; ++band) {
        if (band == 0) {
            const uint sum_28 = band_row * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_28, sum_0_0);
            STORE_LOCAL(float4, stage + (sum_28 + 16), sum_0_1);
            const uint sum_31 = (band_row + 1) * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_31, sum_1_0);
            STORE_LOCAL(float4, stage + (sum_31 + 16), sum_1_1);
        }
        if (band == 1) {
            const uint sum_33 = band_row * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_33, sum_2_0);
            STORE_LOCAL(float4, stage + (sum_33 + 16), sum_2_1);
            const uint sum_36 = (band_row + 1) * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_36, sum_3_0);
            STORE_LOCAL(float4, stage + (sum_36 + 16), sum_3_1);
        }
        if (band == 2) {
            const uint sum_38 = band_row * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_38, sum_4_0);
            STORE_LOCAL(float4, stage + (sum_38 + 16), sum_4_1);
            const uint sum_41 = (band_row + 1) * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_41, sum_5_0);
            STORE_LOCAL(float4, stage + (sum_41 + 16), sum_5_1);
        }
        if (band == 3) {
            const uint sum_43 = band_row * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_43, sum_6_0);
            STORE_LOCAL(float4, stage + (sum_43 + 16), sum_6_1);
            const uint sum_46 = (band_row + 1) * 68 + own_column;
            STORE_LOCAL(float4, stage + sum_46, sum_7_0);
            STORE_LOCAL(float4, stage + (sum_46 + 16), sum_7_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint product_25 = band * 8;
        for (uint unit = item; unit < 512; unit += 128) {
            const uint quotient_8 = unit / 32;
            const uint product_26 = unit % 32 * 2;
            const float4 stage_value = LOAD_LOCAL(float4, stage + (quotient_8 * 68 + product_26));
            const uint sum_51 = row + quotient_8 / 8 * 32 + product_25 + quotient_8 % 8;
            const uint sum_52 = column + product_26;
            if (sum_51 < m && sum_52 < n) {
                STORE(float4, y + (quotient * y_stride0 + sum_51 * y_stride1 + sum_52 / 2) * 2, stage_value);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
