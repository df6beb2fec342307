/* y = a @ b    64 rows of 64 halves by 8 columns of 64, as work-items hold sums */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* Waits for own copies but for the last 0 batches, and shows them to the units that multiply. */
static inline void await_copies_0(void)
{
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static inline void await_products_0(void)
{
    asm volatile("//@wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

static inline void begin_products(void)
{
    asm volatile("//@wgmma.fence.sync.aligned;" ::: "memory");
}

static inline void commit_copies(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* 16 bytes on their way to local memory; zeros where not inside. */
static inline void copy_async(__local void *to, __global const void *from, const bool inside)
{
    const uint bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((uint)(size_t)to), "l"(from), "r"(bytes) : "memory");
}

static inline void end_products(void)
{
    asm volatile("//@wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Where a matrix in local memory begins, how far its blocks are apart, and that its rows of 128 bytes are swizzled. */
static inline ulong matrix_at(__local const uint *words, const uint begin, const uint block)
{
    const uint address = (uint)(size_t)words + 4 * begin;
    return (address & 0x3ffff) >> 4 | (ulong)(block >> 4) << 16 | (ulong)(1024 >> 4) << 32 | (ulong)1 << 62;
}

/* Adds a 64 x 16 matrix times a 16 x 8 one to the sums that 128 work-items hold. */
static inline void warpgroup_f16_nt_8(float *sums, const ulong left, const ulong right)
{
    asm volatile("//@{ .reg .pred p; setp.eq.u32 p, 1, 1; "
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                 "{%0, %1, %2, %3}, "
                 "%4, %5, p, 1, 1, 0, 0; }"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "l"(left), "l"(right)
                 : "memory");
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void warpgroup_product_kernel(__global const uint *a_buffer,
                              const ulong a_offset,
                              __global const uint *b_buffer,
                              const ulong b_offset,
                              __global float *y_buffer,
                              const ulong y_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *b = AT(b_buffer, b_offset);
    __global float *y = AT(y_buffer, y_offset);
    __local uint stage[2304] __attribute__((aligned(1024)));
    float sums[4];
    const uint item = get_local_id(0);
    for (uint unit = item; unit < 512; unit += 128) {
        const uint row = unit >> 3;
        copy_async(stage + (row * 32 + ((unit ^ row) & 7) * 4), a + unit * 4, true);
    }
    if (item < 64) {
        const uint row_1 = item >> 3;
        const uint product_5 = item * 4;
        copy_async(stage + (row_1 * 32 + ((item ^ row_1) & 7) * 4 + 2048), b + product_5, true);
    }
    commit_copies();
    #pragma unroll 4
    for (uint i = 0; i < 4; ++i) {
        sums[i] = 0.0f;
    }
    await_copies_0();
    barrier(CLK_LOCAL_MEM_FENCE);
    begin_products();
    warpgroup_f16_nt_8(sums, matrix_at(stage, 0u, 0), matrix_at(stage, 2048u, 0));
    warpgroup_f16_nt_8(sums, matrix_at(stage, 0u + 8, 0), matrix_at(stage, 2048u + 8, 0));
    warpgroup_f16_nt_8(sums, matrix_at(stage, 0u + 16, 0), matrix_at(stage, 2048u + 16, 0));
    warpgroup_f16_nt_8(sums, matrix_at(stage, 0u + 24, 0), matrix_at(stage, 2048u + 24, 0));
    end_products();
    await_products_0();
    const uint product_6 = item * 4;
    #pragma unroll 4
    for (uint i_1 = 0; i_1 < 4; ++i_1) {
        y[product_6 + i_1] = sums[i_1];
    }
}
