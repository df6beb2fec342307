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
/* Waits for own copies but for the last ${t.value} batches, and shows them to the units that multiply. */
static inline void await_copies_${t.value}(void)
{
    asm volatile("cp.async.wait_group ${t.value};" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
</%def>
##
<%def name="await_products(t)">\
static inline void await_products_${t.value}(void)
{
    asm volatile("//@wgmma.wait_group.sync.aligned ${t.value};" ::: "memory");
}
</%def>
##
<%def name="matrix_at(t)">\
/* Where a matrix in local memory begins, how far its blocks are apart, and that its rows of 128 bytes are swizzled. */
static inline ulong matrix_at(__local const uint *words, const uint begin, const uint block)
{
    const uint address = (uint)(size_t)words + 4 * begin;
    return (address & 0x3ffff) >> 4 | (ulong)(block >> 4) << 16 | (ulong)(1024 >> 4) << 32 | (ulong)1 << 62;
}

</%def>
##
<%def name="warpgroup_multiply(t)">\
<%
    held = t.left_turned is None
    mark = "=" if t.starts else "+"
    at = t.count + (4 if held else 1)
    wide = 32 // t.dtype.size
    turns = "" if t.dtype.size > 2 else (", " if held else f", {int(not t.left_turned)}, ") + str(int(not t.right_turned))
    left = "{" + ", ".join(f"%{t.count + i}" for i in range(4)) + "}" if held else f"%{t.count}"
%>\
/* ${"Makes" if t.starts else "Adds"} a 64 x ${wide} matrix times ${"an" if wide == 8 else "a"} ${wide} x ${t.columns} one ${"" if t.starts else "to "}the sums that 128 work-items hold. */
static inline void ${t.name}(float *sums, ${"const uint *left" if held else "const ulong left"}, const ulong right)
{
    asm volatile("//@{ .reg .pred p; setp.${"ne" if t.starts else "eq"}.u32 p, 1, 1; "
                 "wgmma.mma_async.sync.aligned.m64n${t.columns}k${wide}.f32.${t.dtype}.${t.dtype} "
                 "{${", ".join(f"%{i}" for i in range(t.count))}}, "
                 "${left}, %${at}, p, 1, 1${turns}; }"
                 : ${",\n                   ".join(", ".join(f'"{mark}f"(sums[{i}])' for i in range(first, min(first + 8, t.count))) for first in range(0, t.count, 8))}
                 : ${", ".join(f'"r"(left[{i}])' for i in range(4)) if held else '"l"(left)'}, "l"(right)
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
##
<%def name="tensor_map(name, what, type, comment, columns, unit=4)">\
/* A word of a tensor map: a matrix of ${what}, copied in boxes of ${columns} columns whose units of 16 bytes are swizzled. */
static inline void ${name}(__global uint *map, __global const void *source, const uint word, const uint columns,
${" " * len(f"static inline void {name}(")}const uint rows, const uint row_words, const uint box_rows)
{
    const ulong address = (ulong)source;
    map[word] = word == 0 ? (uint)address : word == 1 ? (uint)(address >> 32)
        : word == 2 ? ${type} /* two axes, ${comment}, swizzled in 128 bytes, promoted in L2 */
        : word == 3 ? row_words / ${unit} /* units of 16 bytes from row to row */
        : word == 8 ? columns - 1 : word == 9 ? rows - 1
        : word == 13 ? ${columns - 1}u << 24 : word == 14 ? box_rows - 1
        : word == 16 ? 128 * box_rows : word == 18 ? 0x400 : 0;
}
</%def>
##
<%def name="describe_matrix(t)">\
${tensor_map("describe_matrix", "16-bit elements", "1 << 4 | 10 << 7 | 3 << 13 | 2 << 17", "bfloat16", 64)}\
</%def>
##
<%def name="describe_tf32(t)">\
${tensor_map("describe_tf32", "float32", "1 << 4 | 7 << 7 | 3 << 13 | 1 << 16 | 2 << 17", "float32 rounded to tf32", 32)}\
</%def>
##
<%def name="describe_f64(t)">\
${tensor_map("describe_f64", "64-bit elements", "1 << 4 | 4 << 7 | 3 << 13 | 2 << 17", "64-bit integers", 16, 2)}\
</%def>
##
<%def name="windows_map(name, type, comment, columns, unit=4)">\
/* A word of a tensor map: windows of ${comment}, of which boxes take ${columns} columns of one place each (im2col). */
static inline void ${name}(__global uint *map, __global const void *source, const uint word, const uint columns,
${" " * len(f"static inline void {name}(")}const uint width, const uint height, const uint images,
${" " * len(f"static inline void {name}(")}const uint width_words, const uint height_words, const uint image_words,
${" " * len(f"static inline void {name}(")}const uint step, const uint step_down, const uint before, const uint above,
${" " * len(f"static inline void {name}(")}const uint across, const uint down, const uint box_rows)
{
    const ulong address = (ulong)source;
    const uint behind = (across - 1) * step + 1 - before - width; /* from the last place to where the last window begins */
    const uint below = (down - 1) * step_down + 1 - above - height;
    map[word] = word == 0 ? (uint)address : word == 1 ? (uint)(address >> 32)
        : word == 2 ? ${type} /* windows, four axes, ${comment}, swizzled in 128 bytes, promoted in L2 */
        : word == 3 ? width_words / ${unit} : word == 4 ? height_words / ${unit} : word == 5 ? image_words / ${unit}
        : word == 8 ? columns - 1 : word == 9 ? width - 1 : word == 10 ? height - 1 : word == 11 ? images - 1
        : word == 13 ? ${columns - 1}u << 24 | (step - 1) << 3 | (step_down - 1) << 6
        : word == 14 ? (-before & 0xff) | (-above & 0xff) << 8 | (behind & 0xff) << 16 | below << 24
        : word == 15 ? box_rows - 1 : word == 16 ? 128 * box_rows : word == 18 ? 0x400 : 0;
}
</%def>
##
<%def name="describe_windows(t)">\
${windows_map("describe_windows", "1 | 3 << 4 | 10 << 7 | 3 << 13 | 2 << 17", "bfloat16", 64)}\
</%def>
##
<%def name="describe_windows_tf32(t)">\
${windows_map("describe_windows_tf32", "1 | 3 << 4 | 7 << 7 | 3 << 13 | 1 << 16 | 2 << 17", "float32 rounded to tf32", 32)}\
</%def>
##
<%def name="describe_windows_f64(t)">\
${windows_map("describe_windows_f64", "1 | 3 << 4 | 4 << 7 | 3 << 13 | 2 << 17", "64-bit integers", 16, 2)}\
</%def>
##
<%def name="init_boxes(t)">\
static inline void init_boxes(__local ulong *barriers, const uint count, const uint boxes)
{
    for (uint number = 0; number < count; ++number) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"((uint)(size_t)(barriers + number)), "r"(boxes) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
</%def>
##
<%def name="copy_box(t)">\
static inline void copy_box(__local void *to, __global const uint *map, const uint column, const uint row,
                            const uint bytes, __local ulong *barrier)
{
    const uint counted = (uint)(size_t)barrier;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(counted), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"((uint)(size_t)to), "l"(map), "r"(column), "r"(row), "r"(counted) : "memory");
}
</%def>
##
<%def name="copy_windows(t)">\
static inline void copy_windows(__local void *to, __global const uint *map, const uint column,
                                const uint x, const uint y, const uint image, const uint tap, const uint tap_down,
                                const uint bytes, __local ulong *barrier)
{
    const uint counted = (uint)(size_t)barrier;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(counted), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                 :: "r"((uint)(size_t)to), "l"(map), "r"(column), "r"(x), "r"(y), "r"(image), "r"(counted),
                    "h"((ushort)tap), "h"((ushort)tap_down) : "memory");
}
</%def>
##
<%def name="await_boxes(t)">\
static inline void await_boxes(__local const ulong *barrier, const uint parity)
{
    uint there = 0;
    while (!there) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(there) : "r"((uint)(size_t)barrier), "r"(parity) : "memory");
    }
}
</%def>
##
<%def name="release_boxes(t)">\
static inline void release_boxes(__local ulong *barrier)
{
    asm volatile("{ .reg .pred p; .reg .u32 lane; bar.warp.sync 0xffffffff; mov.u32 lane, %%laneid; setp.eq.u32 p, lane, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }"
                 :: "r"((uint)(size_t)barrier) : "memory");
}
</%def>
