## Warpgroups that take turns and share registers, by PTX; //@ as in asynchronous.cl.mako.
##
<%def name="turn(name, comment, condition, instruction, warpgroup)">\
/* ${comment} */
static inline void ${name}(void)
{
    const uint warpgroup = get_local_id(0) / 128;
% if condition:
    if (${condition}) {
        asm volatile("barrier.${instruction} %0, 256;" :: "r"(${warpgroup}) : "memory");
    }
% else:
    asm volatile("barrier.${instruction} %0, 256;" :: "r"(${warpgroup}) : "memory");
% endif
}
</%def>
##
<%def name="open_turn(t)">\
${turn(f"open_turn_{t.value}", "The first warpgroup has the first turn.", f"warpgroup == {t.value - 1}", "arrive", "1")}\
</%def>
##
<%def name="await_turn(t)">\
${turn(f"await_turn_{t.value}", f"Waits until it is this warpgroup's turn, of {t.value}.", "", "sync", "1 + warpgroup")}\
</%def>
##
<%def name="pass_turn(t)">\
${turn(f"pass_turn_{t.value}", "The next warpgroup has its turn.", "", "arrive", f"1 + (warpgroup + 1) % {t.value}")}\
</%def>
##
<%def name="close_turn(t)">\
${turn(f"close_turn_{t.value}", "Nobody has a turn any more.", "warpgroup == 0", "sync", "1")}\
</%def>
##
<%def name="take_registers(t)">\
static inline void take_registers_${t.value}(void)
{
    asm volatile("//@setmaxnreg.inc.sync.aligned.u32 ${t.value};");
}
</%def>
##
<%def name="leave_registers(t)">\
static inline void leave_registers_${t.value}(void)
{
    asm volatile("//@setmaxnreg.dec.sync.aligned.u32 ${t.value};");
}
</%def>
