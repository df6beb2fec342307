## Random numbers: words of Philox, and normal numbers from words. constants.cl.mako says what `t` is. The meaning of both
## is in ir/ocl_ir/random_functions.py, which has the same constants and operations in the same order.
##
## A word of `bits` bits is one of 128 / bits in a block.
<%def name="vector(scalar, lanes)" buffered="True">${scalar if lanes == 1 else f"{scalar}{lanes}"}</%def>
<%def name="listed(vectors, lanes)" buffered="True">\
${", ".join(name if lanes == 1 else f"{name}.s{lane:x}" for lane in range(lanes) for name in vectors)}\
</%def>
##
## The words of as many blocks as there are lanes; `number` is theirs.
<%def name="blocks(t, lanes, pick, number=None)" buffered="True">\
<%
    wide, word = vector("ulong", lanes), vector("uint", lanes)
    number = number or f"place{pick} >> {2 if t.bits == 32 else 1}"
%>\
        const ${wide} block = convert_${wide}(${number});
        ${wide} x0 = block & 0xffffffffUL;
        ${wide} x1 = convert_${wide}(c1${pick}) + (block >> 32);
        ${wide} x2 = convert_${wide}(c2${pick}), x3 = convert_${wide}(c3${pick});
        ${wide} key0 = convert_${wide}(k0${pick}), key1 = convert_${wide}(k1${pick});
        for (int round = 0; round < 10; ++round) {
            /* What is above the lower half of a word is cut off where it would matter. */
            const ${wide} p0 = (x0 & 0xffffffffUL) * 0xD2511F53UL;
            const ${wide} p1 = (x2 & 0xffffffffUL) * 0xCD9E8D57UL;
            x0 = (p1 >> 32) ^ x1 ^ key0;
            x1 = p1;
            x2 = (p0 >> 32) ^ x3 ^ key1;
            x3 = p0;
            key0 += 0x9E3779B9UL;
            key1 += 0xBB67AE85UL;
        }
% if t.bits == 32:
        const ${word} w0 = convert_${word}(x0 & 0xffffffffUL), w1 = convert_${word}(x1 & 0xffffffffUL);
        const ${word} w2 = convert_${word}(x2 & 0xffffffffUL), w3 = convert_${word}(x3 & 0xffffffffUL);
% else:
        const ${wide} w0 = x1 << 32 | (x0 & 0xffffffffUL);
        const ${wide} w1 = x3 << 32 | (x2 & 0xffffffffUL);
% endif
</%def>
##
<%def name="philox(t)">\
<%
    length = 128 // t.bits
    whole = t.lanes % length == 0
    lanes_of_heads = "".join("0123456789abcdef"[lane - lane % length] for lane in range(t.lanes))
    heads = "0123456789abcdef"[: t.lanes : length]
    steps = ", ".join(str(lane % length) for lane in range(t.lanes))
    same = " & ".join(f"{name} == {name}.s{lanes_of_heads}" for name in ("c1", "c2", "c3", "k0", "k1"))
%>\
/* The word at a place of a stream: Philox 4x32-10 of Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as
   1, 2, 3 (SC 2011). The number of a block of ${length} words is word 0 of the counter, c1 to c3 are the others. */
static inline ${t.T} philox_${t.T}(const ${t.T} place, const ${t.T} c1, const ${t.T} c2, const ${t.T} c3,
        const ${t.T} k0, const ${t.T} k1)
{
% if whole:
    /* A vector that begins where a block does is ${"one block" if t.lanes == length else "whole blocks"}. */
    const ${t.T} start = place.s${lanes_of_heads} & (${t.T})(${256 ** (t.bits // 8) - length}u${"l" if t.bits == 64 else ""});
    if (all(place == (start | (${t.T})(${steps})) & ${same})) {
${blocks(t, t.lanes // length, f".s{heads}")}\
        return (${t.T})(${listed([f"w{number}" for number in range(length)], t.lanes // length)});
    }
% endif
    {
${blocks(t, t.lanes, "")}\
% if t.bits == 32:
        const ${t.T} even = (place & 2) != 0 ? w2 : w0;
        const ${t.T} odd = (place & 2) != 0 ? w3 : w1;
        return (place & 1) != 0 ? odd : even;
% else:
        return (place & 1) != 0 ? w1 : w0;
% endif
    }
}
</%def>
##
## The two words, `first` and `second`, of the candidate for number `number` in turn `turn`: those of its half of a block,
## or in 64 bits of its block, each turn of the next draw of the stream.
<%def name="candidate_words(t)" buffered="True">\
        /* The next draw of the stream. */
% if t.bits == 32:
<% zero, one = ("0u", "1u") if t.lanes == 1 else (f"({t.T})(0u)", f"({t.T})(1u)") %>\
        const ${t.T} c2 = draw_low + (uint)turn;
        const ${t.T} c3 = draw_high + (c2 < draw_low ? ${one} : ${zero});
${blocks(t, t.lanes, "", "number >> 1")}\
        const ${t.T} first = (number & 1u) != 0u ? w2 : w0, second = (number & 1u) != 0u ? w3 : w1;
% else:
        const ${t.T} draw = (draw_low & 0xffffffffUL) + (ulong)turn;
        const ${t.T} c2 = draw & 0xffffffffUL, c3 = (draw_high + (draw >> 32)) & 0xffffffffUL;
${blocks(t, t.lanes, "", "number & 0x7fffffffffffffffUL")}\
        const ${t.T} first = w0, second = w1;
% endif
</%def>
##
## The statements that make the bits of a normal number of `word`, and the `result` that they are for.
<%def name="normal_statements(t, result)" buffered="True">\
<%
    from types import SimpleNamespace
    lanes = "" if t.lanes == 1 else str(t.lanes)
    f = SimpleNamespace(T=("float" if t.bits == 32 else "double") + lanes)
%>\
% if t.bits == 32:
    /* An odd number, so that neither x nor 1 - x is 0, and both have all of their bits. */
    const ${t.T} k = word << 1 | 1u;
    const ${f.T} x = convert_${f.T}(k) * 0x1p-32f;
    const ${f.T} tail = convert_${f.T}(-k) * 0x1p-32f;
    /* t = -log2(1 - x * x), the exponent and the fraction apart: minimax polynomial on [sqrt(1/2), sqrt(2)). */
    const ${t.I} bits = as_${t.I}(fma(tail, x, tail)) - 0x3f3504f3;
    const ${f.T} exponent = convert_${f.T}(bits >> 23);
    const ${f.T} f = as_${f.T}((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    ${f.T} log2 = 0.170658439f;
    log2 = fma(log2, f, (${f.T})(-0.272686601f));
    log2 = fma(log2, f, (${f.T})(0.29725045f));
    log2 = fma(log2, f, (${f.T})(-0.358963192f));
    log2 = fma(log2, f, (${f.T})(0.480466247f));
    log2 = fma(log2, f, (${f.T})(-0.721375823f));
    log2 = fma(log2, f, (${f.T})(1.44269967f));
    const ${f.T} t = fma(-f, log2, -exponent);
    /* The number divided by x: minimax polynomial for t in [0, 31]. */
    const ${f.T} s = fma(t, (${f.T})(0.0645161271f), (${f.T})(-1.0f));
    ${f.T} ratio = 0.045944117f;
    ratio = fma(ratio, s, (${f.T})(-0.0568561107f));
    ratio = fma(ratio, s, (${f.T})(-0.148662865f));
    ratio = fma(ratio, s, (${f.T})(0.22106801f));
    ratio = fma(ratio, s, (${f.T})(0.113971084f));
    ratio = fma(ratio, s, (${f.T})(-0.249948859f));
    ratio = fma(ratio, s, (${f.T})(0.0157589912f));
    ratio = fma(ratio, s, (${f.T})(0.0395389162f));
    ratio = fma(ratio, s, (${f.T})(0.0763043761f));
    ratio = fma(ratio, s, (${f.T})(-0.0689556152f));
    ratio = fma(ratio, s, (${f.T})(-0.00863555633f));
    ratio = fma(ratio, s, (${f.T})(0.0672310293f));
    ratio = fma(ratio, s, (${f.T})(-0.136400059f));
    ratio = fma(ratio, s, (${f.T})(0.259642541f));
    ratio = fma(ratio, s, (${f.T})(-0.563403428f));
    ratio = fma(ratio, s, (${f.T})(2.33060145f));
    ratio = fma(ratio, s, (${f.T})(4.40075922f));
    ${result} as_${t.T}(x * ratio) | (word & 0x80000000u);
% else:
    /* An odd number, so that neither x nor 1 - x is 0, and both have all of their bits. */
    const ${t.T} k = word << 1 | 1UL;
    const ${f.T} half_x = convert_${f.T}(k) * 0x1p-64 * 0.5;
    const ${f.T} half_tail = convert_${f.T}(-k) * 0x1p-64 * 0.5;
    /* log(half_tail): fdlibm, e_log.c. */
    const ${t.I} bits = as_${t.I}(half_tail) - 0x3fe6a09e667f3bcdL;
    const ${f.T} exponent = convert_${f.T}(bits >> 52);
    const ${f.T} f = as_${f.T}((bits & 0x000fffffffffffffL) + 0x3fe6a09e667f3bcdL) - 1.0;
    const ${f.T} s = f / (2.0 + f);
    const ${f.T} z = s * s;
    const ${f.T} w = z * z;
    const ${f.T} even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332));
    const ${f.T} odd = z * (0.6666666666666735130 + w * (0.2857142874366239149
                       + w * (0.1818357216161805012 + w * 0.1479819860511658591)));
    const ${f.T} square = 0.5 * f * f;
    const ${f.T} logarithm = exponent * 6.93147180369123816490e-01
        - ((square - (s * (square + (odd + even)) + exponent * 1.90821492927058770002e-10)) - f);
    const ${f.T} root = sqrt(-logarithm);
    /* Near the middle, in the tail, and far out. */
    const ${f.T} r = 0.180625 - half_x * half_x;
    ${f.T} middle_above = 2.5090809287301226727e3;
    middle_above = middle_above * r + 3.3430575583588128105e4;
    middle_above = middle_above * r + 6.7265770927008700853e4;
    middle_above = middle_above * r + 4.5921953931549871457e4;
    middle_above = middle_above * r + 1.3731693765509461125e4;
    middle_above = middle_above * r + 1.9715909503065514427e3;
    middle_above = middle_above * r + 1.3314166789178437745e2;
    middle_above = middle_above * r + 3.3871328727963666080e0;
    ${f.T} middle_below = 5.2264952788528545610e3;
    middle_below = middle_below * r + 2.8729085735721942674e4;
    middle_below = middle_below * r + 3.9307895800092710610e4;
    middle_below = middle_below * r + 2.1213794301586595867e4;
    middle_below = middle_below * r + 5.3941960214247511077e3;
    middle_below = middle_below * r + 6.8718700749205790830e2;
    middle_below = middle_below * r + 4.2313330701600911252e1;
    middle_below = middle_below * r + 1.0;
    const ${f.T} r_tail = root - 1.6;
    ${f.T} tail_above = 7.74545014278341407640e-4;
    tail_above = tail_above * r_tail + 2.27238449892691845833e-2;
    tail_above = tail_above * r_tail + 2.41780725177450611770e-1;
    tail_above = tail_above * r_tail + 1.27045825245236838258e0;
    tail_above = tail_above * r_tail + 3.64784832476320460504e0;
    tail_above = tail_above * r_tail + 5.76949722146069140550e0;
    tail_above = tail_above * r_tail + 4.63033784615654529590e0;
    tail_above = tail_above * r_tail + 1.42343711074968357734e0;
    ${f.T} tail_below = 1.05075007164441684324e-9;
    tail_below = tail_below * r_tail + 5.47593808499534494600e-4;
    tail_below = tail_below * r_tail + 1.51986665636164571966e-2;
    tail_below = tail_below * r_tail + 1.48103976427480074590e-1;
    tail_below = tail_below * r_tail + 6.89767334985100004550e-1;
    tail_below = tail_below * r_tail + 1.67638483018380384940e0;
    tail_below = tail_below * r_tail + 2.05319162663775882187e0;
    tail_below = tail_below * r_tail + 1.0;
    const ${f.T} r_far = root - 5.0;
    ${f.T} far_above = 2.01033439929228813265e-7;
    far_above = far_above * r_far + 2.71155556874348757815e-5;
    far_above = far_above * r_far + 1.24266094738807843860e-3;
    far_above = far_above * r_far + 2.65321895265761230930e-2;
    far_above = far_above * r_far + 2.96560571828504891230e-1;
    far_above = far_above * r_far + 1.78482653991729133580e0;
    far_above = far_above * r_far + 5.46378491116411436990e0;
    far_above = far_above * r_far + 6.65790464350110377720e0;
    ${f.T} far_below = 2.04426310338993978564e-15;
    far_below = far_below * r_far + 1.42151175831644588870e-7;
    far_below = far_below * r_far + 1.84631831751005468180e-5;
    far_below = far_below * r_far + 7.86869131145613259100e-4;
    far_below = far_below * r_far + 1.48753612908506148525e-2;
    far_below = far_below * r_far + 1.36929880922735805310e-1;
    far_below = far_below * r_far + 5.99832206555887937690e-1;
    far_below = far_below * r_far + 1.0;
    const ${f.T} outer = root <= 5.0 ? tail_above / tail_below : far_above / far_below;
    const ${f.T} number = half_x <= 0.425 ? half_x * (middle_above / middle_below) : outer;
    ${result} as_${t.T}(number) | (word & 0x8000000000000000UL);
% endif
</%def>
##
<%def name="normal_bits(t)">\
% if t.bits == 32:
/* The bits of the normal number, float32, that a word stands for: its first bit is the sign, and the others, as a
   fraction x, say how many numbers are nearer to 0. As Giles, Approximating the erfinv function (2010), with one
   polynomial in place of two: no branch, no root. At most 7e-7 off, relative to the exact number. */
% else:
/* The bits of the normal number, float64, that a word stands for: its first bit is the sign, and the others, as a
   fraction x, say how many numbers are nearer to 0. Wichura, Algorithm AS 241 (1988), PPND16: relative error 1e-15. */
% endif
static inline ${t.T} normal_bits_${t.T}(const ${t.T} word)
{
${normal_statements(t, "return")}\
}
</%def>
