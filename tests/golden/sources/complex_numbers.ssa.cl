/* pairs of complex numbers: four floats */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* The complex conjugate. */
static inline float4 complex_conj_float4(const float4 a)
{
    float4 z;
    z.even = a.even;
    z.odd = -a.odd;
    return z;
}

/* a / b, divided by the greater part of b first: R. L. Smith, Algorithm 116, CACM 5 (1962). */
static inline float4 complex_div_float4(const float4 a, const float4 b)
{
    const float2 large = fabs(b.even) < fabs(b.odd) ? b.odd : b.even;
    const float2 small = fabs(b.even) < fabs(b.odd) ? b.even : b.odd;
    const float2 first = fabs(b.even) < fabs(b.odd) ? a.odd : a.even;
    const float2 second = fabs(b.even) < fabs(b.odd) ? a.even : a.odd;
    const float2 ratio = small / large;
    const float2 scale = (float2)(1.0f) / (large + small * ratio);
    /* By zero, each part is divided. */
    const float2 re = large == (float2)(0.0f) ? first / fabs(large) : (first + second * ratio) * scale;
    const float2 im = large == (float2)(0.0f) ? second / fabs(large) : (second - first * ratio) * scale;
    float4 z;
    z.even = re;
    z.odd = fabs(b.even) < fabs(b.odd) ? -im : im;
    return z;
}

/* Whether both parts are equal, as the mask that comparisons of parts give. */
static inline int2 complex_eq_float4(const float4 a, const float4 b)
{
    return a.even == b.even & a.odd == b.odd;
}

/* exp(z) */
static inline float2 complex_exp_float2(const float2 z)
{
    if (z.y == 0)
        return (float2)(exp(z.x), z.y);
    if (isinf(z.x) && !isfinite(z.y))
        return z.x < 0 ? (float2)(0) : (float2)(z.x, NAN);
    /* The root of what overflows, times itself behind the cosine, may not. */
    const bool large = z.x > 88.0f;
    const float e = exp(large ? 0.5f * z.x : z.x), again = large ? e : 1.0f;
    return (float2)(e * cos(z.y) * again, e * sin(z.y) * again);
}

/* exp(z) */
static inline float4 complex_exp_float4(const float4 z)
{
    return (float4)(complex_exp_float2(z.s01), complex_exp_float2(z.s23));
}

/* |a| */
static inline float2 complex_magnitude_float4(const float4 a)
{
    return hypot(a.even, a.odd);
}

/* a * b */
static inline float4 complex_mul_float4(const float4 a, const float4 b)
{
    float4 z;
    z.even = a.even * b.even - a.odd * b.odd;
    z.odd = a.even * b.odd + a.odd * b.even;
    return z;
}

/* a where the mask is set, else b. */
static inline float4 complex_select_float4(const int2 mask, const float4 a, const float4 b)
{
    float4 z;
    z.even = select(b.even, a.even, mask);
    z.odd = select(b.odd, a.odd, mask);
    return z;
}

__kernel void complex_numbers(__global const float2 *x_buffer,
                              const ulong x_offset,
                              __global const float2 *y_buffer,
                              const ulong y_offset,
                              __global float2 *z_buffer,
                              const ulong z_offset,
                              __global float *size_buffer,
                              const ulong size_offset)
{
    __global const float2 *x = AT(x_buffer, x_offset);
    __global const float2 *y = AT(y_buffer, y_offset);
    __global float2 *z = AT(z_buffer, z_offset);
    __global float *size = AT(size_buffer, size_offset);
    const uint i = get_global_id(0);
    const uint product = i * 2;
    const float4 a = LOAD(float4, x + product);
    const float4 b = LOAD(float4, y + product);
    const float2 length_1 = complex_magnitude_float4(a);
    const float4 quotient = complex_div_float4(complex_mul_float4(a, b), a + (float4)(2.0f, 0.0f, 2.0f, 0.0f));
    STORE(float4, z + product, complex_select_float4(convert_int2(convert_char2(complex_eq_float4(a, b)) | (convert_char2(length_1 > 1.0f))), quotient, complex_exp_float4(complex_conj_float4(a))));
    STORE(float2, size + product, length_1 + b.odd);
}
