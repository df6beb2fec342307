/* y = a + (s0 + s1*bitcast(normal_bits(philox(b, s2, s3, s4, s5, s6))))    f32, 1-D, 4 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* The bits of the normal number, float32, that a word stands for: its first bit is the sign, and the others, as a
   fraction x, say how many numbers are nearer to 0. As Giles, Approximating the erfinv function (2010), with one
   polynomial in place of two: no branch, no root. At most 7e-7 off, relative to the exact number. */
static inline uint normal_bits_uint(const uint word)
{
    /* An odd number, so that neither x nor 1 - x is 0, and both have all of their bits. */
    const uint k = word << 1 | 1u;
    const float x = convert_float(k) * 0x1p-32f;
    const float tail = convert_float(-k) * 0x1p-32f;
    /* t = -log2(1 - x * x), the exponent and the fraction apart: minimax polynomial on [sqrt(1/2), sqrt(2)). */
    const int bits = as_int(fma(tail, x, tail)) - 0x3f3504f3;
    const float exponent = convert_float(bits >> 23);
    const float f = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float log2 = 0.170658439f;
    log2 = fma(log2, f, (float)(-0.272686601f));
    log2 = fma(log2, f, (float)(0.29725045f));
    log2 = fma(log2, f, (float)(-0.358963192f));
    log2 = fma(log2, f, (float)(0.480466247f));
    log2 = fma(log2, f, (float)(-0.721375823f));
    log2 = fma(log2, f, (float)(1.44269967f));
    const float t = fma(-f, log2, -exponent);
    /* The number divided by x: minimax polynomial for t in [0, 31]. */
    const float s = fma(t, (float)(0.0645161271f), (float)(-1.0f));
    float ratio = 0.045944117f;
    ratio = fma(ratio, s, (float)(-0.0568561107f));
    ratio = fma(ratio, s, (float)(-0.148662865f));
    ratio = fma(ratio, s, (float)(0.22106801f));
    ratio = fma(ratio, s, (float)(0.113971084f));
    ratio = fma(ratio, s, (float)(-0.249948859f));
    ratio = fma(ratio, s, (float)(0.0157589912f));
    ratio = fma(ratio, s, (float)(0.0395389162f));
    ratio = fma(ratio, s, (float)(0.0763043761f));
    ratio = fma(ratio, s, (float)(-0.0689556152f));
    ratio = fma(ratio, s, (float)(-0.00863555633f));
    ratio = fma(ratio, s, (float)(0.0672310293f));
    ratio = fma(ratio, s, (float)(-0.136400059f));
    ratio = fma(ratio, s, (float)(0.259642541f));
    ratio = fma(ratio, s, (float)(-0.563403428f));
    ratio = fma(ratio, s, (float)(2.33060145f));
    ratio = fma(ratio, s, (float)(4.40075922f));
    return as_uint(x * ratio) | (word & 0x80000000u);
}

/* The bits of the normal number, float32, that a word stands for: its first bit is the sign, and the others, as a
   fraction x, say how many numbers are nearer to 0. As Giles, Approximating the erfinv function (2010), with one
   polynomial in place of two: no branch, no root. At most 7e-7 off, relative to the exact number. */
static inline uint4 normal_bits_uint4(const uint4 word)
{
    /* An odd number, so that neither x nor 1 - x is 0, and both have all of their bits. */
    const uint4 k = word << 1 | 1u;
    const float4 x = convert_float4(k) * 0x1p-32f;
    const float4 tail = convert_float4(-k) * 0x1p-32f;
    /* t = -log2(1 - x * x), the exponent and the fraction apart: minimax polynomial on [sqrt(1/2), sqrt(2)). */
    const int4 bits = as_int4(fma(tail, x, tail)) - 0x3f3504f3;
    const float4 exponent = convert_float4(bits >> 23);
    const float4 f = as_float4((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float4 log2 = 0.170658439f;
    log2 = fma(log2, f, (float4)(-0.272686601f));
    log2 = fma(log2, f, (float4)(0.29725045f));
    log2 = fma(log2, f, (float4)(-0.358963192f));
    log2 = fma(log2, f, (float4)(0.480466247f));
    log2 = fma(log2, f, (float4)(-0.721375823f));
    log2 = fma(log2, f, (float4)(1.44269967f));
    const float4 t = fma(-f, log2, -exponent);
    /* The number divided by x: minimax polynomial for t in [0, 31]. */
    const float4 s = fma(t, (float4)(0.0645161271f), (float4)(-1.0f));
    float4 ratio = 0.045944117f;
    ratio = fma(ratio, s, (float4)(-0.0568561107f));
    ratio = fma(ratio, s, (float4)(-0.148662865f));
    ratio = fma(ratio, s, (float4)(0.22106801f));
    ratio = fma(ratio, s, (float4)(0.113971084f));
    ratio = fma(ratio, s, (float4)(-0.249948859f));
    ratio = fma(ratio, s, (float4)(0.0157589912f));
    ratio = fma(ratio, s, (float4)(0.0395389162f));
    ratio = fma(ratio, s, (float4)(0.0763043761f));
    ratio = fma(ratio, s, (float4)(-0.0689556152f));
    ratio = fma(ratio, s, (float4)(-0.00863555633f));
    ratio = fma(ratio, s, (float4)(0.0672310293f));
    ratio = fma(ratio, s, (float4)(-0.136400059f));
    ratio = fma(ratio, s, (float4)(0.259642541f));
    ratio = fma(ratio, s, (float4)(-0.563403428f));
    ratio = fma(ratio, s, (float4)(2.33060145f));
    ratio = fma(ratio, s, (float4)(4.40075922f));
    return as_uint4(x * ratio) | (word & 0x80000000u);
}

/* The word at a place of a stream: Philox 4x32-10 of Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as
   1, 2, 3 (SC 2011). The number of a block of 4 words is word 0 of the counter, c1 to c3 are the others. */
static inline uint philox_uint(const uint place, const uint c1, const uint c2, const uint c3,
        const uint k0, const uint k1)
{
    {
        const ulong block = convert_ulong(place >> 2);
        ulong x0 = block & 0xffffffffUL;
        ulong x1 = convert_ulong(c1) + (block >> 32);
        ulong x2 = convert_ulong(c2), x3 = convert_ulong(c3);
        ulong key0 = convert_ulong(k0), key1 = convert_ulong(k1);
        for (int round = 0; round < 10; ++round) {
            /* What is above the lower half of a word is cut off where it would matter. */
            const ulong p0 = (x0 & 0xffffffffUL) * 0xD2511F53UL;
            const ulong p1 = (x2 & 0xffffffffUL) * 0xCD9E8D57UL;
            x0 = (p1 >> 32) ^ x1 ^ key0;
            x1 = p1;
            x2 = (p0 >> 32) ^ x3 ^ key1;
            x3 = p0;
            key0 += 0x9E3779B9UL;
            key1 += 0xBB67AE85UL;
        }
        const uint w0 = convert_uint(x0 & 0xffffffffUL), w1 = convert_uint(x1 & 0xffffffffUL);
        const uint w2 = convert_uint(x2 & 0xffffffffUL), w3 = convert_uint(x3 & 0xffffffffUL);
        const uint even = (place & 2) != 0 ? w2 : w0;
        const uint odd = (place & 2) != 0 ? w3 : w1;
        return (place & 1) != 0 ? odd : even;
    }
}

/* The word at a place of a stream: Philox 4x32-10 of Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as
   1, 2, 3 (SC 2011). The number of a block of 4 words is word 0 of the counter, c1 to c3 are the others. */
static inline uint4 philox_uint4(const uint4 place, const uint4 c1, const uint4 c2, const uint4 c3,
        const uint4 k0, const uint4 k1)
{
    /* A vector that begins where a block does is one block. */
    const uint4 start = place.s0000 & (uint4)(4294967292u);
    if (all(place == (start | (uint4)(0, 1, 2, 3)) & c1 == c1.s0000 & c2 == c2.s0000 & c3 == c3.s0000 & k0 == k0.s0000 & k1 == k1.s0000)) {
        const ulong block = convert_ulong(place.s0 >> 2);
        ulong x0 = block & 0xffffffffUL;
        ulong x1 = convert_ulong(c1.s0) + (block >> 32);
        ulong x2 = convert_ulong(c2.s0), x3 = convert_ulong(c3.s0);
        ulong key0 = convert_ulong(k0.s0), key1 = convert_ulong(k1.s0);
        for (int round = 0; round < 10; ++round) {
            /* What is above the lower half of a word is cut off where it would matter. */
            const ulong p0 = (x0 & 0xffffffffUL) * 0xD2511F53UL;
            const ulong p1 = (x2 & 0xffffffffUL) * 0xCD9E8D57UL;
            x0 = (p1 >> 32) ^ x1 ^ key0;
            x1 = p1;
            x2 = (p0 >> 32) ^ x3 ^ key1;
            x3 = p0;
            key0 += 0x9E3779B9UL;
            key1 += 0xBB67AE85UL;
        }
        const uint w0 = convert_uint(x0 & 0xffffffffUL), w1 = convert_uint(x1 & 0xffffffffUL);
        const uint w2 = convert_uint(x2 & 0xffffffffUL), w3 = convert_uint(x3 & 0xffffffffUL);
        return (uint4)(w0, w1, w2, w3);
    }
    {
        const ulong4 block = convert_ulong4(place >> 2);
        ulong4 x0 = block & 0xffffffffUL;
        ulong4 x1 = convert_ulong4(c1) + (block >> 32);
        ulong4 x2 = convert_ulong4(c2), x3 = convert_ulong4(c3);
        ulong4 key0 = convert_ulong4(k0), key1 = convert_ulong4(k1);
        for (int round = 0; round < 10; ++round) {
            /* What is above the lower half of a word is cut off where it would matter. */
            const ulong4 p0 = (x0 & 0xffffffffUL) * 0xD2511F53UL;
            const ulong4 p1 = (x2 & 0xffffffffUL) * 0xCD9E8D57UL;
            x0 = (p1 >> 32) ^ x1 ^ key0;
            x1 = p1;
            x2 = (p0 >> 32) ^ x3 ^ key1;
            x3 = p0;
            key0 += 0x9E3779B9UL;
            key1 += 0xBB67AE85UL;
        }
        const uint4 w0 = convert_uint4(x0 & 0xffffffffUL), w1 = convert_uint4(x1 & 0xffffffffUL);
        const uint4 w2 = convert_uint4(x2 & 0xffffffffUL), w3 = convert_uint4(x3 & 0xffffffffUL);
        const uint4 even = (place & 2) != 0 ? w2 : w0;
        const uint4 odd = (place & 2) != 0 ? w3 : w1;
        return (place & 1) != 0 ? odd : even;
    }
}

__kernel void philox_normal_bits_bitcast_mul_add_kernel(const uint n,
                                                        __global const float *restrict a_buffer,
                                                        const ulong a_offset,
                                                        const float s0,
                                                        const float s1,
                                                        const uint s2,
                                                        const uint s3,
                                                        const uint s4,
                                                        const uint s5,
                                                        const uint s6,
                                                        __global float *restrict y_buffer,
                                                        const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 4;
    if (base + 3 < n) {
        const float4 a_i = LOAD(float4, a + base);
        const uint4 repeated_3 = (uint4)(s4);
        const uint4 repeated_4 = (uint4)(s5);
        const uint4 repeated_5 = (uint4)(s6);
        const uint4 word = philox_uint4(base + (uint4)(0, 1, 2, 3), (uint4)(s2), (uint4)(s3), repeated_3, repeated_4, repeated_5);
        const float4 sum_2 = s0 + s1 * as_float4(normal_bits_uint4(word));
        STORE(float4, y + base, a_i + sum_2);
    } else {
        for (uint j = base; j < n; ++j) {
            const float a_i_1 = a[j];
            y[j] = a_i_1 + (s0 + s1 * as_float(normal_bits_uint(philox_uint(j, s2, s3, s4, s5, s6))));
        }
    }
}
