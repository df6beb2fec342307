/* one tap of windows of two pictures, as they lie in local memory */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

static inline void await_boxes(__local const ulong *barrier, const uint parity)
{
    uint there = 0;
    while (!there) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(there) : "r"((uint)(size_t)barrier), "r"(parity) : "memory");
    }
}

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

static inline void init_boxes(__local ulong *barriers, const uint count, const uint boxes)
{
    for (uint number = 0; number < count; ++number) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"((uint)(size_t)(barriers + number)), "r"(boxes) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void windows(__global const uint *a_buffer,
             const ulong a_offset,
             __global const uint *maps_buffer,
             const ulong maps_offset,
             __global uint *y_buffer,
             const ulong y_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *maps = AT(maps_buffer, maps_offset);
    __global uint *y = AT(y_buffer, y_offset);
    __local uint stage[1280] __attribute__((aligned(1024)));
    __local ulong there[1];
    const uint item = get_local_id(0);
    const bool is_equal = item == 0;
    if (is_equal) {
        init_boxes(there, 1, 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_equal) {
        copy_windows(stage, maps, 0u, 1u, 1u, 0u, 2u, 0u, 5120, there);
    }
    await_boxes(there, 0u);
    for (uint word = item; word < 1280; word += 32) {
        y[word] = stage[word];
    }
}
