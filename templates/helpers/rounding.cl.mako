## Rounding of float32 to the values of narrower types. constants.cl.mako says what `t` is.
##
<%namespace file="constants.cl.mako" import="splat"/>\
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
