/* the last of five blocks, by two warpgroups */
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

/* Waits until it is this warpgroup's turn, of 2. */
static inline void await_turn_2(void)
{
    const uint warpgroup = get_local_id(0) / 128;
    asm volatile("barrier.sync %0, 256;" :: "r"(1 + warpgroup) : "memory");
}

/* Nobody has a turn any more. */
static inline void close_turn_2(void)
{
    const uint warpgroup = get_local_id(0) / 128;
    if (warpgroup == 0) {
        asm volatile("barrier.sync %0, 256;" :: "r"(1) : "memory");
    }
}

static inline void copy_box(__local void *to, __global const uint *map, const uint column, const uint row,
                            const uint bytes, __local ulong *barrier)
{
    const uint counted = (uint)(size_t)barrier;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(counted), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"((uint)(size_t)to), "l"(map), "r"(column), "r"(row), "r"(counted) : "memory");
}

static inline void init_boxes(__local ulong *barriers, const uint count, const uint boxes)
{
    for (uint number = 0; number < count; ++number) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"((uint)(size_t)(barriers + number)), "r"(boxes) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static inline void leave_registers_24(void)
{
    asm volatile("//@setmaxnreg.dec.sync.aligned.u32 24;");
}

/* The first warpgroup has the first turn. */
static inline void open_turn_2(void)
{
    const uint warpgroup = get_local_id(0) / 128;
    if (warpgroup == 1) {
        asm volatile("barrier.arrive %0, 256;" :: "r"(1) : "memory");
    }
}

/* The next warpgroup has its turn. */
static inline void pass_turn_2(void)
{
    const uint warpgroup = get_local_id(0) / 128;
    asm volatile("barrier.arrive %0, 256;" :: "r"(1 + (warpgroup + 1) % 2) : "memory");
}

static inline void release_boxes(__local ulong *barrier)
{
    asm volatile("{ .reg .pred p; .reg .u32 lane; bar.warp.sync 0xffffffff; mov.u32 lane, %%laneid; setp.eq.u32 p, lane, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }"
                 :: "r"((uint)(size_t)barrier) : "memory");
}

static inline void take_registers_240(void)
{
    asm volatile("//@setmaxnreg.inc.sync.aligned.u32 240;");
}

__kernel __attribute__((reqd_work_group_size(384, 1, 1)))
void specialised(__global const uint *a_buffer,
                 const ulong a_offset,
                 __global const uint *maps_buffer,
                 const ulong maps_offset,
                 __global uint *y_buffer,
                 const ulong y_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *maps = AT(maps_buffer, maps_offset);
    __global uint *y = AT(y_buffer, y_offset);
    __local uint stage[512] __attribute__((aligned(1024)));
    __local ulong there[2];
    __local ulong free[2];
    const uint item = get_local_id(0);
    if (item == 0) {
        init_boxes(there, 2, 1);
        init_boxes(free, 2, 8);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 256) {
        take_registers_240();
        const uint quotient = item / 128;
        open_turn_2();
        const uint and_value = item & 127;
        const uint product = quotient * 256;
        for (uint block = 0; block < 5; ++block) {
            const uint and_value_1 = block & 1;
            await_boxes(there + and_value_1, (block >> 1) & 1);
            await_turn_2();
            const uint product_1 = and_value_1 * 256;
            for (uint word = and_value; word < 256; word += 128) {
                y[product + word] = stage[product_1 + word] + quotient;
            }
            pass_turn_2();
            release_boxes(free + and_value_1);
        }
        close_turn_2();
    } else {
        leave_registers_24();
        if (item == 256) {
            for (uint block_1 = 0; block_1 < 5; ++block_1) {
                const uint and_value_3 = block_1 & 1;
                await_boxes(free + and_value_3, ((block_1 >> 1) + 1) & 1);
                copy_box(stage + and_value_3 * 256, maps, 0u, block_1 * 2, 1024, there + and_value_3);
            }
        }
    }
}
