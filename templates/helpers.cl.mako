## Functions that generated kernels call: each def makes one OpenCL C 1.2 function, named after the def, for one type.
##
## `t` describes the type: T its C name, I and U the signed and unsigned integer types of its width and lanes, suffix
## what tells the vector functions apart ("" or "_4"), lanes, and bits of one lane. Scalar and vector functions do the
## same operations in the same order, and no lane's result depends on another lane.
##
## Rules for the transcendental functions: no table, and no branch but one that all lanes take together, so that a CPU
## compiler keeps all lanes in one register; no fma, which is a library call where the instruction is missing; no
## built-in function that rounds; nothing that FP contraction or its absence spoils. The errors given were measured over
## all 2^32 arguments (docs/NUMERICS.md).
##
<%!
    TWO_OVER_PI = [f"0x{word}u" for word in "a2f9836e 4e441529 fc2757d1 f534ddc0 db629599 3c439041 fe5163ab".split()]


    def splat(t, constant):
        """A constant operand of ?:, where a scalar does not become a vector by itself."""
        return constant if t.lanes == 1 else f"({t.U if constant.endswith('u') else t.T})({constant})"


    def four_words(t, first):
        """Word number `word + first` of 2/pi, for word from 0 to 4, where a zero stands before the first."""
        words = [splat(t, one) for one in ["0u", *TWO_OVER_PI][first : first + 5]]
        choices = [f"word < {at + 1}u ? {words[at]}" for at in range(4)]
        return " : ".join(choices[:2]) + f"\n{' ' * 22}: " + " : ".join([*choices[2:], words[4]])
%>\
##
## -------------------------------------------------------------------------------------------------- sine and cosine
##
<%def name="quarter_turns(t)">\
    /* |x| is k quarter turns and a rest r in [-pi/4, pi/4]. Adding 1.5 * 2^23 rounds to the integer k and leaves it in
       the low bits. Cody and Waite: pi/2 in four parts, of which the first three have so few bits that their products
       with k < 2^12 are exact. */
    const ${t.T} shifted = fabs(x) * 0.63661977f + 12582912.0f;
    const ${t.T} k = shifted - 12582912.0f;
    ${t.T} r = fabs(x) - k * 0x1.922p+0f + k * 0x1.28p-18f + k * 0x1.778p-25f - k * 0x1.68c234p-39f;
    ${t.U} quadrant = as_${t.U}(shifted);
% if t.lanes > 1:
    const ${t.I} far = fabs(x) > 6433.0f;
    if (any(far)) {
% else:
    if (fabs(x) > 6433.0f) {
% endif
        /* Payne and Hanek: |x| = m * 2^e, and of the product of m with 2/pi only the bits below 4 quarter turns matter.
           They come from the 96 bits w0, w1, w2 of 2/pi that begin e - 2 bits after its point; here a zero word stands
           before the point. (LLVM makes a switch of ==, which it does not vectorise, and none of <.) */
        const ${t.U} m = (as_${t.U}(x) & 0x007fffffu) | 0x00800000u;
        const ${t.U} begin = ((as_${t.U}(x) >> 23) & 0xffu) - 120u;
        const ${t.U} word = begin >> 5;
        const ${t.U} v0 = ${four_words(t, 0)};
        const ${t.U} v1 = ${four_words(t, 1)};
        const ${t.U} v2 = ${four_words(t, 2)};
        const ${t.U} v3 = ${four_words(t, 3)};
        /* Shifting by 1 first keeps the second shift below 32. */
        const ${t.U} shift = begin & 31u;
        const ${t.U} w0 = (v0 << shift) | ((v1 >> 1) >> (31u - shift));
        const ${t.U} w1 = (v1 << shift) | ((v2 >> 1) >> (31u - shift));
        const ${t.U} w2 = (v2 << shift) | ((v3 >> 1) >> (31u - shift));
        const ${t.U} low = m * w1 + mul_hi(m, w2);
        const ${t.U} carry = low < m * w1 ? ${splat(t, "1u")} : ${splat(t, "0u")};
        const ${t.U} high = m * w0 + mul_hi(m, w1) + carry;
        /* high and low hold quarter turns, in units of 2^-30 and 2^-62. The nearest integer goes; the rest is made
           positive, so that its two words do not cancel. */
        const ${t.U} turns = (high + 0x20000000u) >> 30;
        const ${t.U} rest = high - (turns << 30);
        const ${t.U} flip = as_${t.U}(as_${t.I}(rest) >> 31);
        const ${t.T} size = convert_${t.T}(rest ^ flip) * 0x1.921fb6p-30f
                          + convert_${t.T}(low ^ flip) * 0x1.921fb6p-62f;
        /* x - x is 0, but for an infinity NaN. */
        const ${t.T} reduced = as_${t.T}(as_${t.U}(size) ^ (flip & 0x80000000u)) + (x - x);
% if t.lanes > 1:
        r = far ? reduced : r;
        quadrant = far ? turns : quadrant;
% else:
        r = reduced;
        quadrant = turns;
% endif
    }
</%def>
##
<%def name="sine_polynomials(t)">\
    const ${t.T} r2 = r * r;
    const ${t.T} sine = ((-1.9515295891e-4f * r2 + 8.3321608736e-3f) * r2 - 1.6666654611e-1f) * r2 * r + r;
    const ${t.T} cosine = ((2.443315711809948e-5f * r2 - 1.388731625493765e-3f) * r2 + 4.166664568298827e-2f) * r2 * r2
                          - 0.5f * r2 + 1.0f;
</%def>
##
<%def name="fast_sin(t)">\
/* sin(x). Reduction: Cody and Waite, Software Manual for the Elementary Functions (1980), chapter 8, and Payne and
   Hanek, Radian reduction for trigonometric functions (1983). Polynomials: Moshier, Cephes, sinf.c. At most 2.8 ULP off. */
static inline ${t.T} fast_sin${t.suffix}(const ${t.T} x)
{
${quarter_turns(t)}\
${sine_polynomials(t)}\
    /* Odd quadrants take the cosine, the third and fourth the other sign; sin(-x) = -sin(x), also for zeros. */
    const ${t.U} sign = ((quadrant & 2u) << 30) ^ (as_${t.U}(x) & 0x80000000u);
    return as_${t.T}(as_${t.U}((quadrant & 1u) != 0u ? cosine : sine) ^ sign);
}
</%def>
##
<%def name="fast_cos(t)">\
/* cos(x): as sin(x), but even quadrants take the cosine, the second and third the other sign. At most 2.8 ULP off. */
static inline ${t.T} fast_cos${t.suffix}(const ${t.T} x)
{
${quarter_turns(t)}\
${sine_polynomials(t)}\
    const ${t.U} sign = ((quadrant + 1u) & 2u) << 30;
    return as_${t.T}(as_${t.U}((quadrant & 1u) != 0u ? sine : cosine) ^ sign);
}
</%def>
##
<%def name="fast_tan(t)">\
/* tan(x): reduction as sin(x), polynomial from Cephes, tanf.c; odd quadrants take -1/tan. At most 3.8 ULP off. */
static inline ${t.T} fast_tan${t.suffix}(const ${t.T} x)
{
${quarter_turns(t)}\
    const ${t.T} r2 = r * r;
    const ${t.T} high = (9.38540185543e-3f * r2 + 3.11992232697e-3f) * r2 + 2.44301354525e-2f;
    const ${t.T} low = (high * r2 + 5.34112807005e-2f) * r2 + 1.33387994085e-1f;
    const ${t.T} tangent = (low * r2 + 3.33331568548e-1f) * r2 * r + r;
    const ${t.T} result = (quadrant & 1u) != 0u ? -1.0f / tangent : tangent;
    return as_${t.T}(as_${t.U}(result) ^ (as_${t.U}(x) & 0x80000000u));
}
</%def>
##
## ------------------------------------------------------------------------------------------ exponential and logarithm
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
##
## ------------------------------------------------------------------------------------------ rounding to narrower types
##
<%def name="round_to_half(t)">\
/* The float16 value nearest to x, ties to even, as a float: exactly what storing x as a half and loading it gives. */
static inline ${t.T} round_to_half${t.suffix}(const ${t.T} x)
{
    const ${t.U} sign = as_${t.U}(x) & 0x80000000u;
    const ${t.T} a = fabs(x);
    /* A half has 13 fraction bits less; the odd bit is added so that ties go to even. 65520 and more round to 65536. */
    const ${t.U} bits = as_${t.U}(a);
    const ${t.T} rounded = as_${t.T}((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
    const ${t.T} normal = rounded < 65536.0f ? rounded : ${splat(t, "INFINITY")};
    /* Subnormal halves are the multiples of 2^-24, which is the ULP of 0.5: the addition rounds. */
    const ${t.T} subnormal = a + 0.5f - 0.5f;
    const ${t.T} magnitude = a < 0x1p-14f ? subnormal : normal;
    return isnan(x) ? x : as_${t.T}(as_${t.U}(magnitude) | sign);
}
</%def>
##
<%def name="round_to_bfloat16(t)">\
/* The bfloat16 value nearest to x, ties to even, as a float: the upper 16 bits of the result are the bfloat16. */
static inline ${t.T} round_to_bfloat16${t.suffix}(const ${t.T} x)
{
    const ${t.U} bits = as_${t.U}(x);
    /* The odd bit is added so that ties go to even. A carry out of the fraction raises the exponent, up to infinity. */
    const ${t.U} rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    /* Quiet, a NaN has a bit set in the upper half, and so it is still one there. */
    const ${t.U} quiet = bits | 0x00400000u;
    return as_${t.T}(isnan(x) ? quiet : rounded);
}
</%def>
##
## ------------------------------------------------------------------------------------------------------- integer power
##
<%def name="integer_power(t)">\
<%
    signed = t.T == t.I
    vector = t.lanes > 1
    # C would widen a narrow scalar to int, where the product of two ushort can overflow.
    wide = t.U if vector or t.bits >= 32 else "uint"
    unsigned = (lambda name: f"as_{t.U}({name})") if signed else (lambda name: name)
%>\
/* x to the power y modulo 2^${t.bits}, by squaring (Knuth, The Art of Computer Programming, volume 2, 4.6.3).\
% if signed:
 A negative
   exponent gives 1/x, truncated toward zero. */
% else:
 */
% endif
static inline ${t.T} integer_power_${t.T}(const ${t.T} x, const ${t.T} y)
{
    /* Unsigned, because a product that overflows wraps there. */
% if vector:
    const ${t.U} zero = (${t.U})(0), one = (${t.U})(1);
    ${t.U} product = one;
    ${t.U} square = ${unsigned("x")};
    ${t.U} left = ${f"as_{t.U}(max(y, ({t.T})(0)))" if signed else "y"};
    while (any(left != zero)) {
        product = (left & one) != zero ? product * square : product;
        square = square * square;
        left = left >> one;
    }
% else:
    ${wide} product = 1;
    ${wide} square = ${unsigned("x")};
    ${wide} left = ${f"y < 0 ? 0 : as_{t.U}(y)" if signed else "y"};
    while (left != 0) {
        product = (left & 1) != 0 ? product * square : product;
        square = square * square;
        left = left >> 1;
    }
% endif
% if not signed:
    return ${"product" if wide == t.U else f"({t.T})product"};
% elif vector:
    /* 1/x is x for 1 and -1, of which -1 stays for odd powers; it is 0 for all others. */
    const ${t.T} none = (${t.T})(0), plus = (${t.T})(1);
    const ${t.T} inverse = x == plus || x == -plus ? ((y & plus) != none ? x : plus) : none;
    return y < none ? inverse : as_${t.T}(product);
% else:
    /* 1/x is x for 1 and -1, of which -1 stays for odd powers; it is 0 for all others. */
    const ${t.T} inverse = x == 1 || x == -1 ? ((y & 1) != 0 ? x : 1) : 0;
    return y < 0 ? inverse : (${t.T})product;
% endif
}
</%def>
