## Operations that one C expression cannot say: each def makes the statements that compute `out` from `a` and `b`.
##
## The operands are names, or lanes of names (`v.s3`); `out` is a declared variable of type t.T that is none of them,
## because it is written before they are last read. A vector asks for the statements once a lane. `t` describes the
## scalar type: T its C name, kind "int", "uint" or "float", bits its width, floor the function that rounds it down.
##
## The temporaries `div` and `rem` cannot hide an operand: they are names of operations, which ir/ocl_ir/kernel/names.py gives to
## no variable. The results are NumPy's, bit for bit: integers give 0 where the divisor is 0, and the least one divided
## by -1 wraps; neither traps. Floats follow npy_divmod (numpy/_core/src/npymath/npy_math_internal.h.src).
##
<%def name="floordiv(out, a, b, t)">\
% if t.kind == "float":
<%
    real = "float" if t.bits == 16 else t.T  # NumPy divides halves as floats
    x, y = (f"(float){a}", f"(float){b}") if t.bits == 16 else (a, b)
%>\
{
    const ${real} rem = fmod(${x}, ${y});
    /* a - rem is a multiple of b but for rounding. The remainder of a floor has the divisor's sign. */
    ${real} div = (${x} - rem) / ${y};
    if (rem != 0 && (rem < 0) != (${b} < 0))
        div -= 1;
    if (${b} == 0)
        ${out} = ${x} / ${y};
    else if (div == 0)
        ${out} = copysign((${real})0, ${x} / ${y});
    else
        ${out} = div - ${t.floor}(div) > 0.5f ? ${t.floor}(div) + 1 : ${t.floor}(div);
}
% elif t.kind == "int":
if (${b} == 0) {
    ${out} = 0;
} else if (${b} == -1) {
    ${out} = (${t.T})(0 - (u${t.T})${a});  /* the least integer wraps to itself */
} else {
    ${out} = ${a} / ${b};
    if (${a} % ${b} != 0 && (${a} < 0) != (${b} < 0))
        ${out} -= 1;
}
% else:
${out} = ${b} != 0 ? ${a} / ${b} : 0;
% endif
</%def>
##
<%def name="rem(out, a, b, t)">\
% if t.kind == "float":
<% x, y = (f"(float){a}", f"(float){b}") if t.bits == 16 else (a, b) %>\
${out} = fmod(${x}, ${y});
if (${b} != 0) {
    if (${out} == 0)
        ${out} = copysign((${t.T})0, ${b});
    else if ((${out} < 0) != (${b} < 0))
        ${out} += ${b};
}
% elif t.kind == "int":
if (${b} == 0 || ${b} == -1) {
    ${out} = 0;
} else {
    ${out} = ${a} % ${b};
    if (${out} != 0 && (${out} < 0) != (${b} < 0))
        ${out} += ${b};
}
% else:
${out} = ${b} != 0 ? ${a} % ${b} : 0;
% endif
</%def>
