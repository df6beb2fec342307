## Values of other work-items of a warp, by PTX. constants.cl.mako says what `t` is.
##
<%def name="exchanged(name, word)">\
    uint ${name};
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(${name}) : "r"(${word}), "r"(lane));\
</%def>
##
<%def name="warp_shuffle(t)">\
/* The value that the work-item at a lane has, of a whole warp that comes here. */
static inline ${t.T} warp_shuffle_${t.T}(const ${t.T} value, const uint lane)
{
% if t.bits == 64:
    const ulong bits = as_ulong(value);
${exchanged("low", "(uint)bits")}
${exchanged("high", "(uint)(bits >> 32)")}
    return as_${t.T}((ulong)high << 32 | low);
% elif t.bits == 32:
${exchanged("word", "as_uint(value)")}
    return as_${t.T}(word);
% elif t.T == "bool":
${exchanged("word", "(uint)value")}
    return word != 0;
% else:
${exchanged("word", f"(uint)as_{t.U}(value)")}
    return as_${t.T}((${t.U})word);
% endif
}
</%def>
