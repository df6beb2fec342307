## Sine, cosine and tangent of float32. constants.cl.mako says what `t` is.
##
## Rules for the transcendental functions, here and in exponential.cl.mako: no table, and no branch but one that all lanes
## take together, so that a CPU compiler keeps all lanes in one register; no fma, which is a library call where the
## instruction is missing; no built-in function that rounds; nothing that FP contraction or its absence spoils. The
## errors given were measured over all 2^32 arguments (docs/NUMERICS.md).
##
<%namespace file="constants.cl.mako" import="splat"/>\
##
<%!
    TWO_OVER_PI = [f"0x{word}u" for word in "a2f9836e 4e441529 fc2757d1 f534ddc0 db629599 3c439041 fe5163ab".split()]
%>\
##
## Word number `word + first` of 2/pi, for word from 0 to 4, where a zero stands before the first.
<%def name="four_words(t, first)" buffered="True">\
<%
    words = [splat(t, one) for one in ["0u", *TWO_OVER_PI][first : first + 5]]
    choices = [f"word < {at + 1}u ? {words[at]}" for at in range(4)]
%>\
${" : ".join(choices[:2])}
${" " * 22}: ${" : ".join([*choices[2:], words[4]])}\
</%def>
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
