## Atomics of floats, which OpenCL C 1.2 has not: by comparing and swapping their bits, or by PTX. constants.cl.mako says
## what `t` is; `space` is where the element lies.
##
## The first try is a guess and not a load: a plain load beside atomics would be a race.
<%def name="changing(t, operation, after)">\
<% family = "atom" if t.bits == 64 else "atomic" %>\
static inline ${t.T} atomic_${operation}_${t.space}_${t.T}(volatile __${t.space} ${t.T} *element, const ${t.T} value)
{
    volatile __${t.space} ${t.U} *bits = (volatile __${t.space} ${t.U} *)element;
    ${t.U} expected, held = 0;
    do {
        expected = held;
        const ${t.T} before = as_${t.T}(expected);
        held = ${family}_cmpxchg(bits, expected, as_${t.U}(${after}));
    } while (held != expected);
    return as_${t.T}(held);
}
</%def>
##
<%def name="atomic_add(t)">\
/* Adds to an element in one step, tried until nobody came between. Gives what was there before. */
${changing(t, "add", "before + value")}\
</%def>
##
<%def name="atomic_sub(t)">\
/* Subtracts from an element in one step, tried until nobody came between. Gives what was there before. */
${changing(t, "sub", "before - value")}\
</%def>
##
<%def name="atomic_min(t)">\
/* Leaves the smaller of an element and a value, or NaN, in one step. Gives what was there before. */
${changing(t, "min", "before < value || isnan(before) ? before : value")}\
</%def>
##
<%def name="atomic_max(t)">\
/* Leaves the larger of an element and a value, or NaN, in one step. Gives what was there before. */
${changing(t, "max", "before > value || isnan(before) ? before : value")}\
</%def>
##
<%def name="reduction_add(t)">\
<% address = '"l"(element)' if t.space == "global" else '"r"((uint)(size_t)element)' %>\
<% space, letter = "global" if t.space == "global" else "shared", "d" if t.bits == 64 else "f" %>\
/* Adds to an element in one step. */
static inline void reduction_add_${t.space}_${t.T}(volatile __${t.space} ${t.T} *element, const ${t.T} value)
{
    asm volatile("red.${space}.add.f${t.bits} [%0], %1;" :: ${address}, "${letter}"(value) : "memory");
}
</%def>
