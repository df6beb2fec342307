## Exact quotients and square roots of vectors of float32, for compilers that branch in each lane. constants.cl.mako says
## what `t` is.
##
## A first guess of about 23 bits is refined by fma, whose remainders are exact: what NVIDIA's own code does. Where they are not,
## at infinities, NaN, zeros, subnormal numbers and near them, the operator of OpenCL C takes all lanes.
## tests/device/codegen/test_exact_lanes.py holds the limits.
##
<%def name="first_reciprocal(t)">\
/* 1 / x within 1 ULP; a subnormal number is 0, here and there. */
static inline float first_reciprocal(const float x)
{
    float guess;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(x));
    return guess;
}
</%def>
##
<%def name="first_reciprocal_root(t)">\
/* 1 / sqrt(x), off by 2^-22.9 of it at most; a subnormal x is 0. */
static inline float first_reciprocal_root(const float x)
{
    float guess;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(x));
    return guess;
}
</%def>
##
<%def name="guesses(t, name, x)">\
    ${t.T} guess;
% for lane in range(t.lanes):
    guess.s${f"{lane:x}"} = ${name}(${x}.s${f"{lane:x}"});
% endfor
</%def>
##
<%def name="lanes_div(t)">\
/* n / d, rounded correctly. */
static inline ${t.T} lanes_div${t.suffix}(const ${t.T} n, const ${t.T} d)
{
${guesses(t, "first_reciprocal", "d")}\
    const ${t.T} r = fma(fma(-d, guess, (${t.T})(1.0f)), guess, guess);
    const ${t.T} near = n * r;
    const ${t.T} q = fma(fma(-d, near, n), r, near);
    /* The remainder has no bits below 2^-149, and q is no subnormal number, nor NaN. */
    const ${t.T} size = fabs(q), whole = fabs(n);
    const int is_exact = size.s0 >= 0x1p-126f & whole.s0 >= 0x1p-102f
% for lane in range(1, t.lanes):
        & size.s${f"{lane:x}"} >= 0x1p-126f & whole.s${f"{lane:x}"} >= 0x1p-102f${";" if loop.last else ""}
% endfor
    return is_exact ? q : n / d;
}
</%def>
##
<%def name="lanes_sqrt(t)">\
/* sqrt(x), rounded correctly. */
static inline ${t.T} lanes_sqrt${t.suffix}(const ${t.T} x)
{
${guesses(t, "first_reciprocal_root", "x")}\
    const ${t.T} near = x * guess;
    const ${t.T} root = fma(fma(-near, near, x), guess * 0.5f, near);
    /* The remainder has no bits below 2^-149 where x is at least 2^-101; of the bits, one comparison tells finite ones. */
    const ${t.U} above = as_${t.U}(x) - 0x0d000000u;
    uint most = above.s0;
% for lane in range(1, t.lanes):
    most = max(most, above.s${f"{lane:x}"});
% endfor
    return most <= 0x727fffffu ? root : sqrt(x);
}
</%def>
