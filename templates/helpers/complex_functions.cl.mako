## Functions of complex numbers with the special values of C99, Annex G. constants.cl.mako and complex.cl.mako say what
## `t` is. Vectors are computed lane by lane.
##
## Source of the formulas: W. Kahan, Branch cuts for complex elementary functions, in: The State of the Art in Numerical
## Analysis (1987). Parts that would overflow on the way are scaled, and those that cancel are computed by expm1 and log1p.
##
<%def name="function(t, name)">\
static inline ${t.T} complex_${name}_${t.T}(const ${t.T} z)
{
% if t.lanes > 1:
    return ${t.each("complex_" + name, "z")};
% else:
    ${caller.body()}\
% endif
}
</%def>
##
<%def name="complex_exp(t)">\
/* exp(z) */
<%self:function t="${t}" name="exp">\
if (z.y == 0)
        return (${t.T})(exp(z.x), z.y);
    if (isinf(z.x) && !isfinite(z.y))
        return z.x < 0 ? (${t.T})(0) : (${t.T})(z.x, NAN);
    /* The root of what overflows, times itself behind the cosine, may not. */
    const bool large = z.x > ${t.number(t.exp_limit)};
    const ${t.R} e = exp(large ? ${t.number("0.5")} * z.x : z.x), again = large ? e : ${t.number("1.0")};
    return (${t.T})(e * cos(z.y) * again, e * sin(z.y) * again);
</%self:function>\
</%def>
##
<%def name="complex_expm1(t)">\
/* exp(z) - 1 */
<%self:function t="${t}" name="expm1">\
if (z.y == 0)
        return (${t.T})(expm1(z.x), z.y);
    if (!isfinite(z.x) || !isfinite(z.y) || z.x > ${t.number(t.exp_limit)})
        return complex_exp_${t.T}(z) - (${t.T})(${t.number("1.0")}, 0);
    const ${t.R} half_sine = sin(${t.number("0.5")} * z.y);
    return (${t.T})(expm1(z.x) * cos(z.y) - ${t.number("2.0")} * half_sine * half_sine, exp(z.x) * sin(z.y));
</%self:function>\
</%def>
##
<%def name="complex_log(t)">\
/* log(z) */
<%self:function t="${t}" name="log">\
const ${t.R} x = fabs(z.x), y = fabs(z.y);
    const ${t.R} most = fmax(x, y), least = fmin(x, y), size = hypot(x, y);
    const ${t.R} angle = atan2(z.y, z.x);
    if (size > ${t.number("0.5")} && size < ${t.number("2.0")}) { /* near 1, of which the logarithm is near 0 */
        const ${t.R} first = most * most, second = least * least;
        /* Below 1/2, the first difference is rounded, too. */
        const ${t.R} below = first - 1, lost = first - (below + 1);
        const ${t.R} rest = fma(most, most, -first) + fma(least, least, -second) + lost;
        return (${t.T})(${t.number("0.5")} * log1p((below + second) + rest), angle);
    }
    if (isinf(size) && isfinite(most))
        return (${t.T})(log(hypot(${t.number("0.5")} * x, ${t.number("0.5")} * y)) + ${t.number("0.6931471805599453")}, angle);
    return (${t.T})(log(size), angle);
</%self:function>\
</%def>
##
<%def name="complex_log2(t)">\
/* The logarithm to base 2. */
<%self:function t="${t}" name="log2">\
return complex_log_${t.T}(z) * ${t.number("1.4426950408889634")};
</%self:function>\
</%def>
##
<%def name="complex_log10(t)">\
/* The logarithm to base 10. */
<%self:function t="${t}" name="log10">\
return complex_log_${t.T}(z) * ${t.number("0.4342944819032518")};
</%self:function>\
</%def>
##
<%def name="complex_log1p(t)">\
/* log(1 + z) */
<%self:function t="${t}" name="log1p">\
if (!(fabs(z.x) < ${t.number("0.5")} && fabs(z.y) < ${t.number("0.5")}))
        return complex_log_${t.T}((${t.T})(${t.number("1.0")} + z.x, z.y));
    /* The square of the magnitude, but for 1: terms that cancel are summed with what their roundings leave. */
    const ${t.R} twice = z.x + z.x, first = z.y * z.y, second = z.x * z.x;
    const ${t.R} partial = twice + first, added = partial - twice, total = partial + second, again = total - partial;
    const ${t.R} rest = fma(z.y, z.y, -first) + fma(z.x, z.x, -second)
        + ((twice - (partial - added)) + (first - added)) + ((partial - (total - again)) + (second - again));
    return (${t.T})(${t.number("0.5")} * log1p(total + rest), atan2(z.y, ${t.number("1.0")} + z.x));
</%self:function>\
</%def>
##
<%def name="complex_sqrt(t)">\
/* sqrt(z), with a real part that is not negative. */
<%self:function t="${t}" name="sqrt">\
if (isinf(z.y))
        return (${t.T})(fabs(z.y), z.y);
    if (isinf(z.x) && z.x < 0)
        return (${t.T})(isnan(z.y) ? z.y : 0, copysign(z.x, z.y));
    if (isinf(z.x))
        return (${t.T})(z.x, isnan(z.y) ? z.y : copysign(${t.number("0.0")}, z.y));
    if (z.x == 0 && z.y == 0)
        return (${t.T})(0, z.y);
    const ${t.R} most = fmax(fabs(z.x), fabs(z.y));
    const bool large = most > ${t.number(t.large)}, small = most < ${t.number(t.small)};
    const ${t.R} down = large ? ${t.number("0.0625")} : small ? ${t.number("0x1p54")} : ${t.number("1.0")};
    const ${t.R} up = large ? ${t.number("4.0")} : small ? ${t.number("0x1p-27")} : ${t.number("1.0")};
    const ${t.R} x = z.x * down, y = z.y * down;
    const ${t.R} root = sqrt(${t.number("0.5")} * (fabs(x) + hypot(x, y)));
    const ${t.R} other = y / (${t.number("2.0")} * root);
    return (x < 0 ? (${t.T})(fabs(other), copysign(root, y)) : (${t.T})(root, other)) * up;
</%self:function>\
</%def>
##
<%def name="complex_sinh(t)">\
/* sinh(z) */
<%self:function t="${t}" name="sinh">\
if (z.y == 0)
        return (${t.T})(sinh(z.x), z.y);
    if (z.x == 0)
        return (${t.T})(isfinite(z.y) ? z.x * cos(z.y) : z.x, sin(z.y));
    if (isinf(z.x) && !isfinite(z.y))
        return (${t.T})(z.x, NAN);
    if (fabs(z.x) > ${t.number(t.exp_limit)}) {
        const ${t.R} e = exp(${t.number("0.5")} * fabs(z.x));
        return (${t.T})(copysign(${t.number("0.5")} * e, z.x) * cos(z.y) * e, ${t.number("0.5")} * e * sin(z.y) * e);
    }
    return (${t.T})(sinh(z.x) * cos(z.y), cosh(z.x) * sin(z.y));
</%self:function>\
</%def>
##
<%def name="complex_cosh(t)">\
/* cosh(z) */
<%self:function t="${t}" name="cosh">\
if (z.y == 0)
        return (${t.T})(cosh(z.x), copysign(${t.number("1.0")}, z.x) * z.y);
    if (z.x == 0)
        return (${t.T})(cos(z.y), isfinite(z.y) ? z.x * sin(z.y) : z.x);
    if (isinf(z.x) && !isfinite(z.y))
        return (${t.T})(fabs(z.x), NAN);
    if (fabs(z.x) > ${t.number(t.exp_limit)}) {
        const ${t.R} e = exp(${t.number("0.5")} * fabs(z.x));
        return (${t.T})(${t.number("0.5")} * e * cos(z.y) * e, copysign(${t.number("0.5")} * e, z.x) * sin(z.y) * e);
    }
    return (${t.T})(cosh(z.x) * cos(z.y), sinh(z.x) * sin(z.y));
</%self:function>\
</%def>
##
<%def name="complex_tanh(t)">\
/* tanh(z) */
<%self:function t="${t}" name="tanh">\
if (z.y == 0)
        return (${t.T})(tanh(z.x), z.y);
    if (z.x == 0)
        return (${t.T})(z.x, tan(z.y));
    if (fabs(z.x) > ${t.number(t.tanh_limit)}) { /* all but 1 */
        const ${t.R} e = exp(-fabs(z.x));
        const ${t.R} rest = isfinite(z.y) ? ${t.number("4.0")} * sin(z.y) * cos(z.y) * e * e : 0;
        return (${t.T})(copysign(${t.number("1.0")}, z.x), isinf(z.x) ? copysign(${t.number("0.0")}, isfinite(z.y) ? rest : z.y) : rest);
    }
    const ${t.R} t = tan(z.y), s = sinh(z.x), b = ${t.number("1.0")} + t * t, r = cosh(z.x);
    const ${t.R} d = ${t.number("1.0")} + b * s * s;
    return (${t.T})(b * r * s / d, t / d);
</%self:function>\
</%def>
##
<%def name="complex_asinh(t)">\
/* asinh(z) */
<%self:function t="${t}" name="asinh">\
if (isinf(z.x) || isinf(z.y))
        return (${t.T})(copysign((${t.R})INFINITY, z.x), isnan(z.x) ? z.x : atan2(z.y, fabs(z.x)));
    if (isnan(z.x) && z.y == 0)
        return z;
    const ${t.T} a = complex_sqrt_${t.T}((${t.T})(${t.number("1.0")} + z.y, -z.x));
    const ${t.T} b = complex_sqrt_${t.T}((${t.T})(${t.number("1.0")} - z.y, z.x));
    return (${t.T})(asinh(a.x * b.y - a.y * b.x), atan2(z.y, a.x * b.x - a.y * b.y));
</%self:function>\
</%def>
##
<%def name="complex_acos(t)">\
/* acos(z) */
<%self:function t="${t}" name="acos">\
if (isinf(z.x) || isinf(z.y))
        return (${t.T})(isnan(z.x) ? z.x : atan2(fabs(z.y), z.x), -copysign((${t.R})INFINITY, z.y));
    if (z.x == 0 && isnan(z.y))
        return (${t.T})(${t.number("1.5707963267948966")}, z.y);
    const ${t.T} a = complex_sqrt_${t.T}((${t.T})(${t.number("1.0")} - z.x, -z.y));
    const ${t.T} b = complex_sqrt_${t.T}((${t.T})(${t.number("1.0")} + z.x, z.y));
    return (${t.T})(${t.number("2.0")} * atan2(a.x, b.x), asinh(b.x * a.y - b.y * a.x));
</%self:function>\
</%def>
##
<%def name="complex_acosh(t)">\
/* acosh(z) */
<%self:function t="${t}" name="acosh">\
const ${t.T} turned = complex_acos_${t.T}(z);
    return (${t.T})(fabs(turned.y), copysign(turned.x, z.y));
</%self:function>\
</%def>
##
<%def name="complex_atanh(t)">\
/* atanh(z) */
<%self:function t="${t}" name="atanh">\
const ${t.R} x = fabs(z.x), y = fabs(z.y), size = hypot(x, y);
    ${t.T} w;
    if (z.x == 0)
        return (${t.T})(z.x, atan(z.y));
    if (isinf(x) || isinf(y))
        w = (${t.T})(0, isnan(z.y) ? z.y : ${t.number("1.5707963267948966")});
    else if (size > ${t.number(t.far)})
        w = (${t.T})(x / size / size, ${t.number("1.5707963267948966")});
    else if (x == 1 && y != 0)
        w = (${t.T})(${t.number("0.5")} * (log(hypot(${t.number("2.0")}, y)) - log(y)), ${t.number("0.5")} * atan2(${t.number("2.0")}, -y));
    else
        w = (${t.T})(
            ${t.number("0.25")} * log1p(${t.number("4.0")} * x / ((1 - x) * (1 - x) + y * y)),
            ${t.number("0.5")} * atan2(${t.number("2.0")} * y, (1 - x) * (1 + x) - y * y));
    return (${t.T})(copysign(w.x, z.x), copysign(w.y, z.y));
</%self:function>\
</%def>
##
## sin, cos and the like are those of i*z, which exchanges the parts and turns one.
##
<%def name="complex_sin(t)">\
/* sin(z) = -i sinh(iz) */
<%self:function t="${t}" name="sin">\
const ${t.T} turned = complex_sinh_${t.T}((${t.T})(-z.y, z.x));
    return (${t.T})(turned.y, -turned.x);
</%self:function>\
</%def>
##
<%def name="complex_cos(t)">\
/* cos(z) = cosh(iz) */
<%self:function t="${t}" name="cos">\
return complex_cosh_${t.T}((${t.T})(-z.y, z.x));
</%self:function>\
</%def>
##
<%def name="complex_tan(t)">\
/* tan(z) = -i tanh(iz) */
<%self:function t="${t}" name="tan">\
const ${t.T} turned = complex_tanh_${t.T}((${t.T})(-z.y, z.x));
    return (${t.T})(turned.y, -turned.x);
</%self:function>\
</%def>
##
<%def name="complex_asin(t)">\
/* asin(z) = -i asinh(iz) */
<%self:function t="${t}" name="asin">\
const ${t.T} turned = complex_asinh_${t.T}((${t.T})(-z.y, z.x));
    return (${t.T})(turned.y, -turned.x);
</%self:function>\
</%def>
##
<%def name="complex_atan(t)">\
/* atan(z) = -i atanh(iz) */
<%self:function t="${t}" name="atan">\
const ${t.T} turned = complex_atanh_${t.T}((${t.T})(-z.y, z.x));
    return (${t.T})(turned.y, -turned.x);
</%self:function>\
</%def>
##
<%def name="complex_pow(t)">\
/* z to the power w: by products for small whole numbers, else exp(w log(z)). */
static inline ${t.T} complex_pow_${t.T}(const ${t.T} z, const ${t.T} w)
{
% if t.lanes > 1:
    return ${t.each("complex_pow", "z", "w")};
% else:
    if (w.x == 0 && w.y == 0)
        return (${t.T})(${t.number("1.0")}, 0);
    if (z.x == 0 && z.y == 0)
        return w.x > 0 ? (${t.T})(0) : (${t.T})(NAN, NAN);
    if (w.y == 0 && w.x == rint(w.x) && fabs(w.x) < 100) {
        ${t.T} square = z;
        int left = (int)fabs(w.x);
        for (; (left & 1) == 0; left >>= 1)
            square = complex_mul_${t.T}(square, square);
        ${t.T} result = square;  /* no product with 1, which makes NaN of infinity */
        while ((left >>= 1) != 0) {
            square = complex_mul_${t.T}(square, square);
            if (left & 1)
                result = complex_mul_${t.T}(result, square);
        }
        return w.x < 0 ? complex_div_${t.T}((${t.T})(${t.number("1.0")}, 0), result) : result;
    }
    return complex_exp_${t.T}(complex_mul_${t.T}(w, complex_log_${t.T}(z)));
% endif
}
</%def>
