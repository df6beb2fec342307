/* y = a/sqrt(a + s0)    f32, 1-D, 4 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* 1 / x within 1 ULP; a subnormal number is 0, here and there. */
static inline float first_reciprocal(const float x)
{
    float guess;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(x));
    return guess;
}

/* 1 / sqrt(x), off by 2^-22.9 of it at most; a subnormal x is 0. */
static inline float first_reciprocal_root(const float x)
{
    float guess;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(x));
    return guess;
}

/* n / d, rounded correctly. */
static inline float4 lanes_div_4(const float4 n, const float4 d)
{
    float4 guess;
    guess.s0 = first_reciprocal(d.s0);
    guess.s1 = first_reciprocal(d.s1);
    guess.s2 = first_reciprocal(d.s2);
    guess.s3 = first_reciprocal(d.s3);
    const float4 r = fma(fma(-d, guess, (float4)(1.0f)), guess, guess);
    const float4 near = n * r;
    const float4 q = fma(fma(-d, near, n), r, near);
    /* The remainder has no bits below 2^-149, and q is no subnormal number, nor NaN. */
    const float4 size = fabs(q), whole = fabs(n);
    const int is_exact = size.s0 >= 0x1p-126f & whole.s0 >= 0x1p-102f
        & size.s1 >= 0x1p-126f & whole.s1 >= 0x1p-102f
        & size.s2 >= 0x1p-126f & whole.s2 >= 0x1p-102f
        & size.s3 >= 0x1p-126f & whole.s3 >= 0x1p-102f;
    return is_exact ? q : n / d;
}

/* sqrt(x), rounded correctly. */
static inline float4 lanes_sqrt_4(const float4 x)
{
    float4 guess;
    guess.s0 = first_reciprocal_root(x.s0);
    guess.s1 = first_reciprocal_root(x.s1);
    guess.s2 = first_reciprocal_root(x.s2);
    guess.s3 = first_reciprocal_root(x.s3);
    const float4 near = x * guess;
    const float4 root = fma(fma(-near, near, x), guess * 0.5f, near);
    /* The remainder has no bits below 2^-149 where x is at least 2^-101; of the bits, one comparison tells finite ones. */
    const uint4 above = as_uint4(x) - 0x0d000000u;
    uint most = above.s0;
    most = max(most, above.s1);
    most = max(most, above.s2);
    most = max(most, above.s3);
    return most <= 0x727fffffu ? root : sqrt(x);
}

__kernel void add_sqrt_div(const uint n,
                           __global const float *restrict a_buffer,
                           const ulong a_offset,
                           const float s0,
                           __global float *restrict y_buffer,
                           const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 4;
    if (base + 3 < n) {
        const float4 a_i = LOAD(float4, a + base);
        STORE(float4, y + base, lanes_div_4(a_i, lanes_sqrt_4(a_i + s0)));
    } else {
        for (uint j = base; j < n; ++j) {
            const float a_i_1 = a[j];
            y[j] = a_i_1 / sqrt(a_i_1 + s0);
        }
    }
}
