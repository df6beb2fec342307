## Gamma numbers, the first candidate that is not rejected. constants.cl.mako says what `t` is. The meaning is in
## ir/ocl_ir/random_functions.py, which has the same constants and operations in the same order.
##
<%!
def deeper(text):
    """The lines of a loop's body."""
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


def deepest(text):
    return deeper(deeper(text))
%>\
<%namespace name="random" file="random.cl.mako"/>\
## The exponent and the fraction of a float `of`, and a logarithm of these.
<%def name="parts(t, f, of, name)" buffered="True">\
% if t.bits == 32:
    const ${t.I} ${name}_bits = as_${t.I}(${of}) - 0x3f3504f3;
    const ${f} ${name}_exponent = convert_${f}(${name}_bits >> 23);
    const ${f} ${name}_fraction = as_${f}((${name}_bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
% else:
    const ${t.I} ${name}_bits = as_${t.I}(${of}) - 0x3fe6a09e667f3bcdL;
    const ${f} ${name}_exponent = convert_${f}(${name}_bits >> 52);
    const ${f} ${name}_fraction = as_${f}((${name}_bits & 0x000fffffffffffffL) + 0x3fe6a09e667f3bcdL) - 1.0;
% endif
</%def>
<%def name="logarithm(t, f, k, x, name)" buffered="True">\
% if t.bits == 32:
    ${f} ${name}_log2 = 0.170658439f;
% for coefficient in ("-0.272686601f", "0.29725045f", "-0.358963192f", "0.480466247f", "-0.721375823f", "1.44269967f"):
    ${name}_log2 = fma(${name}_log2, ${x}, (${f})(${coefficient}));
% endfor
    const ${f} ${name}_log = fma(${x}, ${name}_log2, ${k}) * 0.693147182f;
% else:
    const ${f} ${name}_s = ${x} / (2.0 + ${x});
    const ${f} ${name}_z = ${name}_s * ${name}_s;
    const ${f} ${name}_w = ${name}_z * ${name}_z;
    const ${f} ${name}_even = ${name}_w * (0.3999999999940941908 + ${name}_w * (0.2222219843214978396
                       + ${name}_w * 0.1531383769920937332));
    const ${f} ${name}_odd = ${name}_z * (0.6666666666666735130 + ${name}_w * (0.2857142874366239149
                      + ${name}_w * (0.1818357216161805012 + ${name}_w * 0.1479819860511658591)));
    const ${f} ${name}_square = 0.5 * ${x} * ${x};
    const ${f} ${name}_log = ${k} * 6.93147180369123816490e-01
        - ((${name}_square - (${name}_s * (${name}_square + (${name}_odd + ${name}_even))
                              + ${k} * 1.90821492927058770002e-10)) - ${x});
% endif
</%def>
##
<%def name="gamma_bits(t)">\
<%
    lanes = "" if t.lanes == 1 else str(t.lanes)
    f = ("float" if t.bits == 32 else "double") + lanes
    e = "f" if t.bits == 32 else ""
%>\
/* The bits of gamma numbers of the shape d + 1/3, where c is 1 / sqrt(9 d): Marsaglia and Tsang, A simple method for generating
   gamma variables (2000). The first of eight candidates that is not rejected, each of two words; d if all of one are. */
static inline ${t.T} gamma_bits_${t.T}(const ${t.T} number, const ${t.T} c1, const ${t.T} draw_low, const ${t.T} draw_high,
        const ${t.T} k0, const ${t.T} k1, const ${t.T} c_bits, const ${t.T} d_bits)
{
    const ${f} c = as_${f}(c_bits), d = as_${f}(d_bits);
    ${f} found = 0.0${e};
    for (int turn = 0; turn < 8; ++turn) {
${random.candidate_words(t)}\
        ${t.T} normal;
        {
            const ${t.T} word = first;
${random.normal_statements(t, "normal =") | deepest}\
        }
        const ${f} y = as_${f}(normal);
        const ${f} t = c * y;
        const ${f} base = 1.0${e} + t;
        /* log(base), of what is near 1 by how far it is from it. */
        const ${f} positive = base > 0.0${e} ? base : (${f})(1.0${e});
${parts(t, f, "positive", "base") | deeper}\
        const ${t.I} is_near = ${"-" if t.lanes == 1 else ""}(t > -0.29${e} & t < 0.41${e});
        const ${f} k = is_near ? (${f})(0.0${e}) : base_exponent;
        const ${f} r = is_near ? t : base_fraction;
${logarithm(t, f, "k", "r", "base") | deeper}\
        const ${f} most = 0.5${e} * y * y + d * (3.0${e} * base_log - t * (3.0${e} + t * (3.0${e} + t)));
        const ${f} u = convert_${f}(second) * 0x1p-${t.bits}${e} + 0x1p-${t.bits + 1}${e};
${parts(t, f, "u", "u") | deeper}\
${logarithm(t, f, "u_exponent", "u_fraction", "u") | deeper}\
        const ${f} candidate = (base > 0.0${e} & u_log < most) ? d * (base * base * base) : (${f})(0.0${e});
        found = found != 0.0${e} ? found : candidate;
        if (${f"found != 0.0{e}" if t.lanes == 1 else f"all(found != 0.0{e})"}) {
            break;
        }
    }
    return as_${t.T}(found != 0.0${e} ? found : d);
}
</%def>
