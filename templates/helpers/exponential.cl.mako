## Exponential, logarithm and hyperbolic tangent of float32, by the rules of trigonometry.cl.mako.
##
<%namespace file="constants.cl.mako" import="splat"/>\
##
<%def name="fast_exp(t)">\
/* exp(x) = 2^k * exp(r), |r| <= ln(2)/2: Cody and Waite, Software Manual for the Elementary Functions (1980),
   chapter 6. Polynomial: Moshier, Cephes, expf.c. At most 1.0 ULP off. */
static inline ${t.T} fast_exp${t.suffix}(const ${t.T} x)
{
    /* From 89 on the result is infinite, from -104 down it is zero; a NaN passes. */
    const ${t.T} below = x > 89.0f ? ${splat(t, "89.0f")} : x;
    const ${t.T} bounded = below < -104.0f ? ${splat(t, "-104.0f")} : below;
    /* Adding 1.5 * 2^23 rounds to the integer k. ln(2) has two parts, the first of 9 bits: its product is exact. */
    const ${t.T} shifted = bounded * 1.44269504f + 12582912.0f;
    const ${t.T} k = shifted - 12582912.0f;
    const ${t.T} r = bounded - k * 0.693359375f + k * 2.12194440e-4f;
    const ${t.T} power = (((((1.9875691500e-4f * r
                            + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r
                            + 4.1665795894e-2f) * r + 1.6666665459e-1f) * r
                            + 5.0000001201e-1f) * (r * r) + r + 1.0f;
    /* 2^k in two factors: one alone cannot reach the largest and the subnormal results. */
    const ${t.I} exponent = as_${t.I}(shifted) - 0x4b400000;
    const ${t.I} half_exponent = exponent >> 1;
    return power * as_${t.T}((half_exponent + 127) << 23) * as_${t.T}((exponent - half_exponent + 127) << 23);
}
</%def>
##
<%def name="fast_log(t)">\
/* log(x) = k * ln(2) + log(m), m in [sqrt(1/2), sqrt(2)): Moshier, Cephes, logf.c. At most 0.9 ULP off. */
static inline ${t.T} fast_log${t.suffix}(const ${t.T} x)
{
    /* Subnormal arguments are brought into the normal range first. */
    const ${t.I} subnormal = x < 0x1p-126f;
    const ${t.T} normal = subnormal ? x * 0x1p+23f : x;
    /* Counted from the bits of sqrt(1/2), the exponent field is k and the fraction that of m. */
    const ${t.I} bits = as_${t.I}(normal) - 0x3f3504f3;
    const ${t.T} k = convert_${t.T}(bits >> 23) - (subnormal ? ${splat(t, "23.0f")} : ${splat(t, "0.0f")});
    const ${t.T} f = as_${t.T}((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    const ${t.T} f2 = f * f;
    const ${t.T} rest = ((((((((7.0376836292e-2f * f - 1.1514610310e-1f) * f
                             + 1.1676998740e-1f) * f - 1.2420140846e-1f) * f
                             + 1.4249322787e-1f) * f - 1.6668057665e-1f) * f
                             + 2.0000714765e-1f) * f - 2.4999993993e-1f) * f
                             + 3.3333331174e-1f) * f * f2;
    /* ln(2) in two parts, the small ones first. */
    const ${t.T} result = f + (rest - k * 2.12194440e-4f - 0.5f * f2) + k * 0.693359375f;
    /* log(0) = -inf, log(inf) = inf, and no logarithm of a negative number or NaN. */
    const ${t.T} ordinary = x < INFINITY ? result : x;
    const ${t.T} positive = x > 0.0f ? ordinary : ${splat(t, "NAN")};
    return x == 0.0f ? ${splat(t, "-INFINITY")} : positive;
}
</%def>
##
<%def name="fast_tanh(t)">\
/* tanh(x): a polynomial below 0.625, 1 - 2 / (exp(2x) + 1) above: Moshier, Cephes, tanhf.c. At most 1.4 ULP off. */
static inline ${t.T} fast_tanh${t.suffix}(const ${t.T} x)
{
    const ${t.T} x2 = x * x;
    const ${t.T} small = ((((-5.70498872745e-3f * x2 + 2.06390887954e-2f) * x2 - 5.37397155531e-2f) * x2
                           + 1.33314422036e-1f) * x2 - 3.33332819422e-1f) * x2 * fabs(x) + fabs(x);
    /* From 9.02 on the result rounds to 1; a NaN passes. exp(2a) is as in fast_exp, but 2^k fits in one factor. */
    const ${t.T} a = fabs(x) > 9.1f ? ${splat(t, "9.1f")} : fabs(x);
    const ${t.T} shifted = a * 2.88539008f + 12582912.0f;
    const ${t.T} k = shifted - 12582912.0f;
    const ${t.T} r = 2.0f * a - k * 0.693359375f + k * 2.12194440e-4f;
    const ${t.T} power = (((((1.9875691500e-4f * r
                            + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r
                            + 4.1665795894e-2f) * r + 1.6666665459e-1f) * r
                            + 5.0000001201e-1f) * (r * r) + r + 1.0f;
    const ${t.T} scale = as_${t.T}((as_${t.I}(shifted) - 0x4b400000 + 127) << 23);
    const ${t.T} large = 1.0f - 2.0f / (power * scale + 1.0f);
    return copysign(fabs(x) < 0.625f ? small : large, x);
}
</%def>
