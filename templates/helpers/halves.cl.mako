## Conversions between vectors of floats and the bits of halves, for compilers that take the memory of vload_half and
## vstore_half for aligned to the whole vector, or make an access of each lane. constants.cl.mako says what `t` is.
##
## OpenCL C has no such conversion but through memory: a private vector is aligned, and never leaves the registers.
## Clang, which PoCL is built on, lets a type ask for less alignment; vload and vstore of ushorts would become one
## instruction a lane there.
<%def name="any_half(t)">\
/* The bits of halves in memory that is aligned to one half. */
typedef ushort${t.lanes} any_half${t.suffix} __attribute__((aligned(2)));
</%def>
##
<%def name="half_values(t)">\
/* The values of halves, from their bits. */
static inline ${t.T} half_values${t.suffix}(const ushort${t.lanes} bits)
{
    return vload_half${t.lanes}(0, (const half *)&bits);
}
</%def>
##
<%def name="half_bits(t)">\
/* The bits of the halves nearest to x, ties to even. */
static inline ushort${t.lanes} half_bits${t.suffix}(const ${t.T} x)
{
    ushort${t.lanes} bits;
    vstore_half${t.lanes}_rte(x, 0, (half *)&bits);
    return bits;
}
</%def>
