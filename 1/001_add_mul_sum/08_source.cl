/* y0 = (a + s0)*b; y1 = sum((a + s0)*b)    f16, in f32, by columns */
#pragma OPENCL FP_CONTRACT OFF

/* The float16 value nearest to x, ties to even, as a float: exactly what storing x as a half and loading it gives. */
static inline float round_to_half(const float x)
{
    const uint sign = as_uint(x) & 0x80000000u;
    const float a = fabs(x);
    /* A half has 13 fraction bits less; the odd bit is added so that ties go to even. 65520 and more round to 65536. */
    const uint bits = as_uint(a);
    const float rounded = as_float((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
    const float normal = rounded < 65536.0f ? rounded : INFINITY;
    /* Subnormal halves are the multiples of 2^-24, which is the ULP of 0.5: the addition rounds. */
    const float subnormal = a + 0.5f - 0.5f;
    const float magnitude = a < 0x1p-14f ? subnormal : normal;
    return isnan(x) ? x : as_float(as_uint(magnitude) | sign);
}

/* The float16 value nearest to x, ties to even, as a float: exactly what storing x as a half and loading it gives. */
static inline float16 round_to_half_16(const float16 x)
{
    const uint16 sign = as_uint16(x) & 0x80000000u;
    const float16 a = fabs(x);
    /* A half has 13 fraction bits less; the odd bit is added so that ties go to even. 65520 and more round to 65536. */
    const uint16 bits = as_uint16(a);
    const float16 rounded = as_float16((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
    const float16 normal = rounded < 65536.0f ? rounded : (float16)(INFINITY);
    /* Subnormal halves are the multiples of 2^-24, which is the ULP of 0.5: the addition rounds. */
    const float16 subnormal = a + 0.5f - 0.5f;
    const float16 magnitude = a < 0x1p-14f ? subnormal : normal;
    return isnan(x) ? x : as_float16(as_uint16(magnitude) | sign);
}

__kernel __attribute__((vec_type_hint(float16)))
void add_mul_sum(const uint n0,
                 const uint m,
                 const uint per,
                 __global const half *restrict a_buffer,
                 const ulong a_offset,
                 const uint a_stride1,
                 const float s0,
                 __global const half *restrict b_buffer,
                 const ulong b_offset,
                 const uint b_stride1,
                 __global half *restrict y0_buffer,
                 const ulong y0_offset,
                 const uint y0_stride1,
                 __global half *restrict y1_buffer,
                 const ulong y1_offset,
                 const uint y1_stride1)
{
    __global const half *a = a_buffer + a_offset;
    __global const half *b = b_buffer + b_offset;
    __global half *y0 = y0_buffer + y0_offset;
    __global half *y1 = y1_buffer + y1_offset;
    const uint o = get_global_id(0);
    const uint part = get_global_id(1);
    const uint begin = part * per;
    const uint sum = begin + per;
    const uint end = min(sum, m);
    const uint base = o * 16;
    if (base + 15 < n0) {
        float16 acc = (float16)(0.0f);
        const float16 repeated = (float16)(s0);
        #pragma unroll 4
        for (uint r = begin; r < end; ++r) {
            const float16 a_i = vload_half16(0, a + (r * a_stride1 + base));
            const float16 b_i = vload_half16(0, b + (r * b_stride1 + base));
            const float16 round_f16_value_1 = round_to_half_16(round_to_half_16(a_i + repeated) * b_i);
            acc = acc + round_f16_value_1;
            vstore_half16_rte(round_f16_value_1, 0, y0 + (r * y0_stride1 + base));
        }
        vstore_half16_rte(acc, 0, y1 + (part * y1_stride1 + o) * 16);
    } else {
        const uint product_7 = part * y1_stride1 * 16;
        for (uint j = base; j < n0; ++j) {
            float acc_1 = 0.0f;
            for (uint r_1 = begin; r_1 < end; ++r_1) {
                const float a_i_1 = vload_half(r_1 * a_stride1 + j, a);
                const float b_i_1 = vload_half(r_1 * b_stride1 + j, b);
                const float round_f16_value_3 = round_to_half(round_to_half(a_i_1 + s0) * b_i_1);
                acc_1 = acc_1 + round_f16_value_3;
                vstore_half_rte(round_f16_value_3, r_1 * y0_stride1 + j, y0);
            }
            vstore_half_rte(acc_1, product_7 + j, y1);
        }
    }
}
