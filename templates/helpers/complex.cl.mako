## Arithmetic of complex numbers, which are vectors of their parts: one number is a float2, a vector of four of them a
## float8. constants.cl.mako says what `t` is; R is the type of the parts of all lanes, re and im what selects them, and
## no lane's result depends on another lane.
##
<%def name="joined(t, re, im)" buffered="True">\
% if t.lanes == 1:
    return (${t.T})(${re}, ${im});
% else:
    ${t.T} z;
    z.even = ${re};
    z.odd = ${im};
    return z;
% endif
</%def>
##
<%def name="complex_of(t)">\
/* The complex numbers with these parts. */
static inline ${t.C} complex_of_${t.T}(const ${t.T} re, const ${t.T} im)
{
    ${t.C} z;
    z.even = re;
    z.odd = im;
    return z;
}
</%def>
##
<%def name="complex_mul(t)">\
/* a * b */
static inline ${t.T} complex_mul_${t.T}(const ${t.T} a, const ${t.T} b)
{
${joined(t, f"a.{t.re} * b.{t.re} - a.{t.im} * b.{t.im}", f"a.{t.re} * b.{t.im} + a.{t.im} * b.{t.re}")}\
}
</%def>
##
<%def name="complex_fma(t)">\
/* a * b + c, with two fused operations a part. */
static inline ${t.T} complex_fma_${t.T}(const ${t.T} a, const ${t.T} b, const ${t.T} c)
{
    const ${t.R} re = fma(-a.${t.im}, b.${t.im}, fma(a.${t.re}, b.${t.re}, c.${t.re}));
    const ${t.R} im = fma(a.${t.im}, b.${t.re}, fma(a.${t.re}, b.${t.im}, c.${t.im}));
${joined(t, "re", "im")}\
}
</%def>
##
<%def name="complex_div(t)">\
/* a / b, divided by the greater part of b first: R. L. Smith, Algorithm 116, CACM 5 (1962). */
static inline ${t.T} complex_div_${t.T}(const ${t.T} a, const ${t.T} b)
{
    const ${t.R} large = fabs(b.${t.re}) < fabs(b.${t.im}) ? b.${t.im} : b.${t.re};
    const ${t.R} small = fabs(b.${t.re}) < fabs(b.${t.im}) ? b.${t.re} : b.${t.im};
    const ${t.R} first = fabs(b.${t.re}) < fabs(b.${t.im}) ? a.${t.im} : a.${t.re};
    const ${t.R} second = fabs(b.${t.re}) < fabs(b.${t.im}) ? a.${t.re} : a.${t.im};
    const ${t.R} ratio = small / large;
    const ${t.R} scale = ${t.number("1.0")} / (large + small * ratio);
    /* By zero, each part is divided. */
    const ${t.R} re = large == ${t.number("0.0")} ? first / fabs(large) : (first + second * ratio) * scale;
    const ${t.R} im = large == ${t.number("0.0")} ? second / fabs(large) : (second - first * ratio) * scale;
${joined(t, "re", f"fabs(b.{t.re}) < fabs(b.{t.im}) ? -im : im")}\
}
</%def>
##
<%def name="complex_conj(t)">\
/* The complex conjugate. */
static inline ${t.T} complex_conj_${t.T}(const ${t.T} a)
{
${joined(t, f"a.{t.re}", f"-a.{t.im}")}\
}
</%def>
##
<%def name="complex_magnitude(t)">\
/* |a| */
static inline ${t.R} complex_magnitude_${t.T}(const ${t.T} a)
{
    return hypot(a.${t.re}, a.${t.im});
}
</%def>
##
<%def name="complex_sign(t)">\
/* a / |a|; 0 of 0, and the direction of the infinite part of what has one. */
static inline ${t.T} complex_sign_${t.T}(const ${t.T} a)
{
% if t.lanes > 1:
    return ${t.each("complex_sign", "a")};
% else:
    const bool far = isinf(a.x) != isinf(a.y);
    /* A quarter, so that the magnitude is finite, of all but the least. */
    const ${t.R} part = fmax(fabs(a.x), fabs(a.y)) > 1 ? (${t.R})0.25 : (${t.R})1;
    const ${t.R} x = far ? copysign((${t.R})isinf(a.x), a.x) : a.x * part, y = far ? copysign((${t.R})isinf(a.y), a.y) : a.y * part;
    const ${t.R} size = hypot(x, y);
    return size == 0 ? (${t.T})(0) : (${t.T})(x, y) / size;
% endif
}
</%def>
##
<%def name="complex_eq(t)">\
/* Whether both parts are equal, as the mask that comparisons of parts give. */
static inline ${t.I} complex_eq_${t.T}(const ${t.T} a, const ${t.T} b)
{
    return a.even == b.even & a.odd == b.odd;
}
</%def>
##
<%def name="complex_ne(t)">\
/* Whether a part differs, as the mask that comparisons of parts give. */
static inline ${t.I} complex_ne_${t.T}(const ${t.T} a, const ${t.T} b)
{
    return a.even != b.even | a.odd != b.odd;
}
</%def>
##
<%def name="complex_select(t)">\
/* a where the mask is set, else b. */
static inline ${t.T} complex_select_${t.T}(const ${t.I} mask, const ${t.T} a, const ${t.T} b)
{
    ${t.T} z;
    z.even = select(b.even, a.even, mask);
    z.odd = select(b.odd, a.odd, mask);
    return z;
}
</%def>
