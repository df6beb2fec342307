## Functions with long code as calls, for compilers that take long over many of them inlined. constants.cl.mako says what
## `t` is.
<%def name="called(t, function, parameters)">\
/* ${function}, not inlined. */
static __attribute__((noinline)) ${t.T} called_${function}_${t.T}(${", ".join(f"const {t.T} {name}" for name in parameters)})
{
    return ${function}(${", ".join(parameters)});
}
</%def>
##
<%def name="called_sin(t)">\
${called(t, "sin", "x")}\
</%def>
##
<%def name="called_cos(t)">\
${called(t, "cos", "x")}\
</%def>
##
<%def name="called_tan(t)">\
${called(t, "tan", "x")}\
</%def>
##
<%def name="called_pow(t)">\
${called(t, "pow", "xy")}\
</%def>
