## Rounding of float32 to the values of narrower types, and of floats to whole numbers. constants.cl.mako says what `t` is.
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
<%def name="convert_to_half(t)"><% count = "" if t.lanes == 1 else t.lanes %>\
/* The float16 value nearest to x, ties to even, as a float: by instructions, through memory that is none. */
static inline ${t.T} convert_to_half${t.suffix}(const ${t.T} x)
{
    ushort${count} bits;
    vstore_half${count}_rte(x, 0, (half *)&bits);
    return vload_half${count}(0, (const half *)&bits);
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
## PoCL 3.1's own functions convert to an integer, which is undefined for infinities, NaN and large numbers: where its
## compiler knows the operand to be one, it takes the code behind for unreachable. `r = 5; for (…) r = rint(INFINITY);`
## gave 5, and a loop in front of it did not end.
<%def name="nearest(t, x)" buffered="True"><% whole = "0x1p23f" if t.bits == 32 else "0x1p52" %>\
    /* From ${whole} on every float is whole; adding it rounds what is smaller, ties to even. */
    const ${t.T} far = copysign(${splat(t, whole)}, ${x});
    const ${t.T} nearest = fabs(${x}) < ${whole} ? (${x} + far) - far : ${x};\
</%def>
<%def name="step(t, condition)" buffered="True"><% f = "f" if t.bits == 32 else "" %>\
(${condition} ? ${splat(t, f"1.0{f}")} : ${splat(t, f"0.0{f}")})\
</%def>
##
<%def name="whole_rint(t)">\
/* The nearest whole number, of two the even one. */
static inline ${t.T} whole_rint_${t.T}(const ${t.T} x)
{
${nearest(t, "x")}
    return copysign(nearest, x);
}
</%def>
##
<%def name="whole_floor(t)">\
/* The greatest whole number that is not greater than x. */
static inline ${t.T} whole_floor_${t.T}(const ${t.T} x)
{
${nearest(t, "x")}
    return copysign(nearest - ${step(t, "nearest > x")}, x);
}
</%def>
##
<%def name="whole_ceil(t)">\
/* The least whole number that is not less than x. */
static inline ${t.T} whole_ceil_${t.T}(const ${t.T} x)
{
${nearest(t, "x")}
    return copysign(nearest + ${step(t, "nearest < x")}, x);
}
</%def>
##
<%def name="whole_trunc(t)">\
/* x without its fraction. */
static inline ${t.T} whole_trunc_${t.T}(const ${t.T} x)
{
    const ${t.T} size = fabs(x);
${nearest(t, "size")}
    return copysign(nearest - ${step(t, "nearest > size")}, x);
}
</%def>
