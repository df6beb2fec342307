## Copies and products that go on while the work-items do, by PTX. Lines behind //@ are for compute capability 9.0a: the
## compiler passes them on as comments, which a stage of its own opens (ocl_runtime.codegen.opened).
##
<%def name="copy_async(t)">\
/* 16 bytes on their way to local memory; zeros where not inside. */
static inline void copy_async(__local void *to, __global const void *from, const bool inside)
{
    const uint bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((uint)(size_t)to), "l"(from), "r"(bytes) : "memory");
}
</%def>
##
<%def name="commit_copies(t)">\
static inline void commit_copies(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
</%def>
##
<%def name="await_copies(t)">\
/* Waits for own copies but for the last ${t.pending} batches, and shows them to the units that multiply. */
static inline void await_copies_${t.pending}(void)
{
    asm volatile("cp.async.wait_group ${t.pending};" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
</%def>
##
<%def name="await_products(t)">\
static inline void await_products_${t.pending}(void)
{
    asm volatile("//@wgmma.wait_group.sync.aligned ${t.pending};" ::: "memory");
}
</%def>
##
<%def name="matrix_at(t)">\
/* Where a matrix in local memory begins, how far its blocks are apart, and that its rows of 128 bytes are swizzled. */
static inline ulong matrix_at(__local const uint *words, const uint block)
{
    const uint address = (uint)(size_t)words;
    return (address & 0x3ffff) >> 4 | (ulong)(block >> 4) << 16 | (ulong)(1024 >> 4) << 32 | (ulong)1 << 62;
}

</%def>
##
<%def name="warpgroup_multiply(t)">\
/* Adds a 64 x 16 matrix times a 16 x ${t.columns} one to the sums that 128 work-items hold. */
static inline void ${t.name}(float *sums, const ulong left, const ulong right)
{
    asm volatile("//@{ .reg .pred p; setp.eq.u32 p, 1, 1; "
                 "wgmma.mma_async.sync.aligned.m64n${t.columns}k16.f32.${t.dtype}.${t.dtype} "
                 "{${", ".join(f"%{i}" for i in range(t.count))}}, "
                 "%${t.count}, %${t.count + 1}, p, 1, 1, ${int(not t.left_turned)}, ${int(not t.right_turned)}; }"
                 : ${",\n                   ".join(", ".join(f'"+f"(sums[{i}])' for i in range(first, first + 8)) for first in range(0, t.count, 8))}
                 : "l"(left), "l"(right)
                 : "memory");
}
</%def>
##
<%def name="begin_products(t)">\
static inline void begin_products(void)
{
    asm volatile("//@wgmma.fence.sync.aligned;" ::: "memory");
}
</%def>
##
<%def name="end_products(t)">\
static inline void end_products(void)
{
    asm volatile("//@wgmma.commit_group.sync.aligned;" ::: "memory");
}
</%def>
