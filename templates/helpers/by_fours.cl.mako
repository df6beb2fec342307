## Built-in functions that a driver gets wrong on wide vectors. constants.cl.mako says what `t` is.
##
## PoCL 3.1's pow of float64 on 8 or 16 lanes gives wrong results in ordinary lanes beside an extreme one: pow(1000.0, 1.5)
## was 0.965. Its fmod on 8 lanes did not end within a minute on such vectors. On up to 4 lanes both are right
## (tests/device/codegen/test_helpers.py asks every driver).
<%def name="by_fours(t, function)">\
<%
    four = t.T.removesuffix(str(t.lanes)) + "4"
    lanes = ["0123456789abcdef"[at : at + 4] for at in range(0, t.lanes, 4)]
%>\
/* ${function}(x, y), on 4 lanes at a time: on more, PoCL lets extreme values in one lane spoil the others. */
static inline ${t.T} ${function}_by_fours${t.suffix}(const ${t.T} x, const ${t.T} y)
{
% for four_lanes in lanes:
    const ${four} at_${loop.index * 4} = ${function}(x.s${four_lanes}, y.s${four_lanes});
% endfor
    return (${t.T})(${", ".join(f"at_{at}" for at in range(0, t.lanes, 4))});
}
</%def>
##
<%def name="pow_by_fours(t)">\
${by_fours(t, "pow")}\
</%def>
##
<%def name="fmod_by_fours(t)">\
${by_fours(t, "fmod")}\
</%def>
