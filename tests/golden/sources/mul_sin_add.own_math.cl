/* y = a*b + sin(c)    float32, contiguous, 4 elements per work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* sin(x). Reduction: Cody and Waite, Software Manual for the Elementary Functions (1980), chapter 8, and Payne and
   Hanek, Radian reduction for trigonometric functions (1983). Polynomials: Moshier, Cephes, sinf.c. At most 2.8 ULP off. */
static inline float fast_sin(const float x)
{
    /* |x| is k quarter turns and a rest r in [-pi/4, pi/4]. Adding 1.5 * 2^23 rounds to the integer k and leaves it in
       the low bits. Cody and Waite: pi/2 in four parts, of which the first three have so few bits that their products
       with k < 2^12 are exact. */
    const float shifted = fabs(x) * 0.63661977f + 12582912.0f;
    const float k = shifted - 12582912.0f;
    float r = fabs(x) - k * 0x1.922p+0f + k * 0x1.28p-18f + k * 0x1.778p-25f - k * 0x1.68c234p-39f;
    uint quadrant = as_uint(shifted);
    if (fabs(x) > 6433.0f) {
        /* Payne and Hanek: |x| = m * 2^e, and of the product of m with 2/pi only the bits below 4 quarter turns matter.
           They come from the 96 bits w0, w1, w2 of 2/pi that begin e - 2 bits after its point; here a zero word stands
           before the point. (LLVM makes a switch of ==, which it does not vectorise, and none of <.) */
        const uint m = (as_uint(x) & 0x007fffffu) | 0x00800000u;
        const uint begin = ((as_uint(x) >> 23) & 0xffu) - 120u;
        const uint word = begin >> 5;
        const uint v0 = word < 1u ? 0u : word < 2u ? 0xa2f9836eu
                      : word < 3u ? 0x4e441529u : word < 4u ? 0xfc2757d1u : 0xf534ddc0u;
        const uint v1 = word < 1u ? 0xa2f9836eu : word < 2u ? 0x4e441529u
                      : word < 3u ? 0xfc2757d1u : word < 4u ? 0xf534ddc0u : 0xdb629599u;
        const uint v2 = word < 1u ? 0x4e441529u : word < 2u ? 0xfc2757d1u
                      : word < 3u ? 0xf534ddc0u : word < 4u ? 0xdb629599u : 0x3c439041u;
        const uint v3 = word < 1u ? 0xfc2757d1u : word < 2u ? 0xf534ddc0u
                      : word < 3u ? 0xdb629599u : word < 4u ? 0x3c439041u : 0xfe5163abu;
        /* Shifting by 1 first keeps the second shift below 32. */
        const uint shift = begin & 31u;
        const uint w0 = (v0 << shift) | ((v1 >> 1) >> (31u - shift));
        const uint w1 = (v1 << shift) | ((v2 >> 1) >> (31u - shift));
        const uint w2 = (v2 << shift) | ((v3 >> 1) >> (31u - shift));
        const uint low = m * w1 + mul_hi(m, w2);
        const uint carry = low < m * w1 ? 1u : 0u;
        const uint high = m * w0 + mul_hi(m, w1) + carry;
        /* high and low hold quarter turns, in units of 2^-30 and 2^-62. The nearest integer goes; the rest is made
           positive, so that its two words do not cancel. */
        const uint turns = (high + 0x20000000u) >> 30;
        const uint rest = high - (turns << 30);
        const uint flip = as_uint(as_int(rest) >> 31);
        const float size = convert_float(rest ^ flip) * 0x1.921fb6p-30f
                          + convert_float(low ^ flip) * 0x1.921fb6p-62f;
        /* x - x is 0, but for an infinity NaN. */
        const float reduced = as_float(as_uint(size) ^ (flip & 0x80000000u)) + (x - x);
        r = reduced;
        quadrant = turns;
    }
    const float r2 = r * r;
    const float sine = ((-1.9515295891e-4f * r2 + 8.3321608736e-3f) * r2 - 1.6666654611e-1f) * r2 * r + r;
    const float cosine = ((2.443315711809948e-5f * r2 - 1.388731625493765e-3f) * r2 + 4.166664568298827e-2f) * r2 * r2
                          - 0.5f * r2 + 1.0f;
    /* Odd quadrants take the cosine, the third and fourth the other sign; sin(-x) = -sin(x), also for zeros. */
    const uint sign = ((quadrant & 2u) << 30) ^ (as_uint(x) & 0x80000000u);
    return as_float(as_uint((quadrant & 1u) != 0u ? cosine : sine) ^ sign);
}

/* sin(x). Reduction: Cody and Waite, Software Manual for the Elementary Functions (1980), chapter 8, and Payne and
   Hanek, Radian reduction for trigonometric functions (1983). Polynomials: Moshier, Cephes, sinf.c. At most 2.8 ULP off. */
static inline float4 fast_sin_4(const float4 x)
{
    /* |x| is k quarter turns and a rest r in [-pi/4, pi/4]. Adding 1.5 * 2^23 rounds to the integer k and leaves it in
       the low bits. Cody and Waite: pi/2 in four parts, of which the first three have so few bits that their products
       with k < 2^12 are exact. */
    const float4 shifted = fabs(x) * 0.63661977f + 12582912.0f;
    const float4 k = shifted - 12582912.0f;
    float4 r = fabs(x) - k * 0x1.922p+0f + k * 0x1.28p-18f + k * 0x1.778p-25f - k * 0x1.68c234p-39f;
    uint4 quadrant = as_uint4(shifted);
    const int4 far = fabs(x) > 6433.0f;
    if (any(far)) {
        /* Payne and Hanek: |x| = m * 2^e, and of the product of m with 2/pi only the bits below 4 quarter turns matter.
           They come from the 96 bits w0, w1, w2 of 2/pi that begin e - 2 bits after its point; here a zero word stands
           before the point. (LLVM makes a switch of ==, which it does not vectorise, and none of <.) */
        const uint4 m = (as_uint4(x) & 0x007fffffu) | 0x00800000u;
        const uint4 begin = ((as_uint4(x) >> 23) & 0xffu) - 120u;
        const uint4 word = begin >> 5;
        const uint4 v0 = word < 1u ? (uint4)(0u) : word < 2u ? (uint4)(0xa2f9836eu)
                      : word < 3u ? (uint4)(0x4e441529u) : word < 4u ? (uint4)(0xfc2757d1u) : (uint4)(0xf534ddc0u);
        const uint4 v1 = word < 1u ? (uint4)(0xa2f9836eu) : word < 2u ? (uint4)(0x4e441529u)
                      : word < 3u ? (uint4)(0xfc2757d1u) : word < 4u ? (uint4)(0xf534ddc0u) : (uint4)(0xdb629599u);
        const uint4 v2 = word < 1u ? (uint4)(0x4e441529u) : word < 2u ? (uint4)(0xfc2757d1u)
                      : word < 3u ? (uint4)(0xf534ddc0u) : word < 4u ? (uint4)(0xdb629599u) : (uint4)(0x3c439041u);
        const uint4 v3 = word < 1u ? (uint4)(0xfc2757d1u) : word < 2u ? (uint4)(0xf534ddc0u)
                      : word < 3u ? (uint4)(0xdb629599u) : word < 4u ? (uint4)(0x3c439041u) : (uint4)(0xfe5163abu);
        /* Shifting by 1 first keeps the second shift below 32. */
        const uint4 shift = begin & 31u;
        const uint4 w0 = (v0 << shift) | ((v1 >> 1) >> (31u - shift));
        const uint4 w1 = (v1 << shift) | ((v2 >> 1) >> (31u - shift));
        const uint4 w2 = (v2 << shift) | ((v3 >> 1) >> (31u - shift));
        const uint4 low = m * w1 + mul_hi(m, w2);
        const uint4 carry = low < m * w1 ? (uint4)(1u) : (uint4)(0u);
        const uint4 high = m * w0 + mul_hi(m, w1) + carry;
        /* high and low hold quarter turns, in units of 2^-30 and 2^-62. The nearest integer goes; the rest is made
           positive, so that its two words do not cancel. */
        const uint4 turns = (high + 0x20000000u) >> 30;
        const uint4 rest = high - (turns << 30);
        const uint4 flip = as_uint4(as_int4(rest) >> 31);
        const float4 size = convert_float4(rest ^ flip) * 0x1.921fb6p-30f
                          + convert_float4(low ^ flip) * 0x1.921fb6p-62f;
        /* x - x is 0, but for an infinity NaN. */
        const float4 reduced = as_float4(as_uint4(size) ^ (flip & 0x80000000u)) + (x - x);
        r = far ? reduced : r;
        quadrant = far ? turns : quadrant;
    }
    const float4 r2 = r * r;
    const float4 sine = ((-1.9515295891e-4f * r2 + 8.3321608736e-3f) * r2 - 1.6666654611e-1f) * r2 * r + r;
    const float4 cosine = ((2.443315711809948e-5f * r2 - 1.388731625493765e-3f) * r2 + 4.166664568298827e-2f) * r2 * r2
                          - 0.5f * r2 + 1.0f;
    /* Odd quadrants take the cosine, the third and fourth the other sign; sin(-x) = -sin(x), also for zeros. */
    const uint4 sign = ((quadrant & 2u) << 30) ^ (as_uint4(x) & 0x80000000u);
    return as_float4(as_uint4((quadrant & 1u) != 0u ? cosine : sine) ^ sign);
}

__kernel __attribute__((vec_type_hint(float4)))
void mul_sin_add(const uint n,
                 __global const float *restrict a_buffer,
                 const ulong a_offset,
                 __global const float *restrict b_buffer,
                 const ulong b_offset,
                 __global const float *restrict c_buffer,
                 const ulong c_offset,
                 __global float *restrict y_buffer,
                 const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global const float *c = AT(c_buffer, c_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 4;
    if (base + 3 < n) {
        STORE(float4, y + base, LOAD(float4, a + base) * LOAD(float4, b + base) + fast_sin_4(LOAD(float4, c + base)));
    } else {
        for (uint at = base; at < n; ++at) {
            y[at] = a[at] * b[at] + fast_sin(c[at]);
        }
    }
}
