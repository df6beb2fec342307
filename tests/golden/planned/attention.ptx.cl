/* y = softmax(scale q kᵀ) v    f16, 64 long, 192 queries, 128 keys at a time */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define HELD(x) as_float(as_uint(x) ^ -(uint)(get_work_dim() == 0))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

static inline void await_boxes(__local const ulong *barrier, const uint parity)
{
    uint there = 0;
    while (!there) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(there) : "r"((uint)(size_t)barrier), "r"(parity) : "memory");
    }
}

static inline void await_products_0(void)
{
    asm volatile("//@wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

static inline void await_products_1(void)
{
    asm volatile("//@wgmma.wait_group.sync.aligned 1;" ::: "memory");
}

/* Waits until it is this warpgroup's turn, of 3. */
static inline void await_turn_3(void)
{
    const uint warpgroup = get_local_id(0) / 128;
    asm volatile("barrier.sync %0, 256;" :: "r"(1 + warpgroup) : "memory");
}

static inline void begin_products(void)
{
    asm volatile("//@wgmma.fence.sync.aligned;" ::: "memory");
}

/* Nobody has a turn any more. */
static inline void close_turn_3(void)
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

static inline void end_products(void)
{
    asm volatile("//@wgmma.commit_group.sync.aligned;" ::: "memory");
}

static inline void init_boxes(__local ulong *barriers, const uint count, const uint boxes)
{
    for (uint number = 0; number < count; ++number) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"((uint)(size_t)(barriers + number)), "r"(boxes) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static inline void leave_registers_32(void)
{
    asm volatile("//@setmaxnreg.dec.sync.aligned.u32 32;");
}

/* Where a matrix in local memory begins, how far its blocks are apart, and that its rows of 128 bytes are swizzled. */
static inline ulong matrix_at(__local const uint *words, const uint begin, const uint block)
{
    const uint address = (uint)(size_t)words + 4 * begin;
    return (address & 0x3ffff) >> 4 | (ulong)(block >> 4) << 16 | (ulong)(1024 >> 4) << 32 | (ulong)1 << 62;
}

/* The first warpgroup has the first turn. */
static inline void open_turn_3(void)
{
    const uint warpgroup = get_local_id(0) / 128;
    if (warpgroup == 2) {
        asm volatile("barrier.arrive %0, 256;" :: "r"(1) : "memory");
    }
}

/* The next warpgroup has its turn. */
static inline void pass_turn_3(void)
{
    const uint warpgroup = get_local_id(0) / 128;
    asm volatile("barrier.arrive %0, 256;" :: "r"(1 + (warpgroup + 1) % 3) : "memory");
}

static inline void release_boxes(__local ulong *barrier)
{
    asm volatile("{ .reg .pred p; .reg .u32 lane; bar.warp.sync 0xffffffff; mov.u32 lane, %%laneid; setp.eq.u32 p, lane, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }"
                 :: "r"((uint)(size_t)barrier) : "memory");
}

static inline void take_registers_160(void)
{
    asm volatile("//@setmaxnreg.inc.sync.aligned.u32 160;");
}

/* The value that the work-item at a lane has, of a whole warp that comes here. */
static inline float warp_shuffle_float(const float value, const uint lane)
{
    uint word;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(word) : "r"(as_uint(value)), "r"(lane));
    return as_float(word);
}

/* The value that the work-item at a lane has, of a whole warp that comes here. */
static inline uint warp_shuffle_uint(const uint value, const uint lane)
{
    uint word;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(word) : "r"(as_uint(value)), "r"(lane));
    return as_uint(word);
}

/* Adds a 64 x 16 matrix times a 16 x 128 one to the sums that 128 work-items hold. */
static inline void warpgroup_f16_nt_128(float *sums, const ulong left, const ulong right)
{
    asm volatile("//@{ .reg .pred p; setp.eq.u32 p, 1, 1; "
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, p, 1, 1, 0, 0; }"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7]),
                   "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]), "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]),
                   "+f"(sums[16]), "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]), "+f"(sums[22]), "+f"(sums[23]),
                   "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]), "+f"(sums[27]), "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31]),
                   "+f"(sums[32]), "+f"(sums[33]), "+f"(sums[34]), "+f"(sums[35]), "+f"(sums[36]), "+f"(sums[37]), "+f"(sums[38]), "+f"(sums[39]),
                   "+f"(sums[40]), "+f"(sums[41]), "+f"(sums[42]), "+f"(sums[43]), "+f"(sums[44]), "+f"(sums[45]), "+f"(sums[46]), "+f"(sums[47]),
                   "+f"(sums[48]), "+f"(sums[49]), "+f"(sums[50]), "+f"(sums[51]), "+f"(sums[52]), "+f"(sums[53]), "+f"(sums[54]), "+f"(sums[55]),
                   "+f"(sums[56]), "+f"(sums[57]), "+f"(sums[58]), "+f"(sums[59]), "+f"(sums[60]), "+f"(sums[61]), "+f"(sums[62]), "+f"(sums[63])
                 : "l"(left), "l"(right)
                 : "memory");
}

/* Makes a 64 x 16 matrix times a 16 x 128 one the sums that 128 work-items hold. */
static inline void warpgroup_first_f16_nt_128(float *sums, const ulong left, const ulong right)
{
    asm volatile("//@{ .reg .pred p; setp.ne.u32 p, 1, 1; "
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, p, 1, 1, 0, 0; }"
                 : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]), "=f"(sums[4]), "=f"(sums[5]), "=f"(sums[6]), "=f"(sums[7]),
                   "=f"(sums[8]), "=f"(sums[9]), "=f"(sums[10]), "=f"(sums[11]), "=f"(sums[12]), "=f"(sums[13]), "=f"(sums[14]), "=f"(sums[15]),
                   "=f"(sums[16]), "=f"(sums[17]), "=f"(sums[18]), "=f"(sums[19]), "=f"(sums[20]), "=f"(sums[21]), "=f"(sums[22]), "=f"(sums[23]),
                   "=f"(sums[24]), "=f"(sums[25]), "=f"(sums[26]), "=f"(sums[27]), "=f"(sums[28]), "=f"(sums[29]), "=f"(sums[30]), "=f"(sums[31]),
                   "=f"(sums[32]), "=f"(sums[33]), "=f"(sums[34]), "=f"(sums[35]), "=f"(sums[36]), "=f"(sums[37]), "=f"(sums[38]), "=f"(sums[39]),
                   "=f"(sums[40]), "=f"(sums[41]), "=f"(sums[42]), "=f"(sums[43]), "=f"(sums[44]), "=f"(sums[45]), "=f"(sums[46]), "=f"(sums[47]),
                   "=f"(sums[48]), "=f"(sums[49]), "=f"(sums[50]), "=f"(sums[51]), "=f"(sums[52]), "=f"(sums[53]), "=f"(sums[54]), "=f"(sums[55]),
                   "=f"(sums[56]), "=f"(sums[57]), "=f"(sums[58]), "=f"(sums[59]), "=f"(sums[60]), "=f"(sums[61]), "=f"(sums[62]), "=f"(sums[63])
                 : "l"(left), "l"(right)
                 : "memory");
}

/* Adds a 64 x 16 matrix times a 16 x 64 one to the sums that 128 work-items hold. */
static inline void warpgroup_f16_heldn_64(float *sums, const uint *left, const ulong right)
{
    asm volatile("//@{ .reg .pred p; setp.eq.u32 p, 1, 1; "
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7]),
                   "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]), "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]),
                   "+f"(sums[16]), "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]), "+f"(sums[22]), "+f"(sums[23]),
                   "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]), "+f"(sums[27]), "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right)
                 : "memory");
}

__kernel __attribute__((reqd_work_group_size(512, 1, 1)))
void attention(__global const uint *restrict maps_buffer,
               const ulong maps_offset,
               __global const uint *restrict q_buffer,
               const ulong q_offset,
               const uint q_map,
               __global const uint *restrict k_buffer,
               const ulong k_offset,
               const uint k_map,
               __global const uint *restrict v_buffer,
               const ulong v_offset,
               const uint v_map,
               const uint n,
               const uint m,
               const uint shared,
               const uint tiles,
               const uint all_heads,
               const uint all_tiles,
               const uint heads_at_once,
               const float scale_argument,
               const uint own_heads,
               const uint outer_words,
               __global float *restrict logs_buffer,
               const ulong logs_offset,
               __global uint *restrict y_buffer,
               const ulong y_offset)
{
    __global const uint *maps = AT(maps_buffer, maps_offset);
    __global const uint *q = AT(q_buffer, q_offset);
    __global const uint *k = AT(k_buffer, k_offset);
    __global const uint *v = AT(v_buffer, v_offset);
    __global float *logs = AT(logs_buffer, logs_offset);
    __global uint *y = AT(y_buffer, y_offset);
    const float scale = HELD(scale_argument);
    uint u32_0;
    float f32_1;
    float f32_2;
    float f32_3;
    const uint group = get_group_id(0);
    const uint item = get_local_id(0);
    const uint groups = get_num_groups(0);
    __local uint stage[30720] __attribute__((aligned(1024)));
    __local ulong q_there[1];
    __local ulong q_free[1];
    __local ulong k_there[3];
    __local ulong k_free[3];
    __local ulong v_there[3];
    __local ulong v_free[3];
    const uint warpgroup = item / 128;
    const uint and_value = item & 3;
    const uint and_value_1 = item & 31;
    const uint and_value_3 = (item >> 2) & 7;
    const uint own_row = warpgroup * 64 + ((item >> 5) & 3) * 16 + and_value_3;
    const int converted = (int)m;
    const int behind = (int)((uint)converted - (uint)(int)n);
    if (item == 0) {
        init_boxes(q_there, 1, 1);
        init_boxes(q_free, 1, 12);
        init_boxes(k_there, 3, 1);
        init_boxes(k_free, 3, 12);
        init_boxes(v_there, 3, 1);
        init_boxes(v_free, 3, 12);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (warpgroup < 3) {
        take_registers_160();
        float sums[32];
        float scores[64];
        uint weights[32];
        u32_0 = 0u;
        open_turn_3();
        const uint product_2 = tiles * heads_at_once;
        const uint difference = tiles - 1;
        const uint xor_value = and_value_1 ^ 1;
        const uint xor_value_1 = and_value_1 ^ 2;
        const uint product_3 = and_value * 4;
        const bool is_upper = (item & 1) != 0;
        const bool is_upper_1 = (item & 2) != 0;
        const bool is_equal_1 = and_value == 0;
        const bool is_upper_2 = (item & 1) != 0;
        const bool is_upper_3 = (item & 2) != 0;
        for (uint number = group; number < all_tiles; number += groups) {
            const uint first_head = number / product_2 * heads_at_once;
            const uint within = number - first_head * tiles;
            const uint difference_1 = all_heads - first_head;
            const uint together = min(heads_at_once, difference_1);
            const uint tile = within / together;
            const uint head = first_head + within - tile * together;
            const uint turn = number / groups;
            const uint first = (difference - tile) * 192;
            const int converted_2 = (int)first;
            const int sum_3 = (int)((uint)converted_2 + 192 + (uint)behind);
            const int smaller = min(converted, sum_3);
            const int seen = max(smaller, 0);
            const int sum_4 = (int)((uint)seen + 127);
            int quotient_1;
            if (128 == 0) {
                quotient_1 = 0;
            } else if (128 == -1) {
                quotient_1 = (int)(0 - (uint)sum_4);  /* the least integer wraps to itself */
            } else {
                quotient_1 = sum_4 / 128;
                if (sum_4 % 128 != 0 && (sum_4 < 0) != (128 < 0))
                    quotient_1 -= 1;
            }
            const uint count = (uint)quotient_1;
            const uint start = u32_0;
            #pragma unroll 32
            for (uint i = 0; i < 32; ++i) {
                sums[i] = 0.0f;
            }
            float greatest_0 = -INFINITY;
            float greatest_1 = -INFINITY;
            f32_1 = 0.0f;
            f32_2 = 0.0f;
            await_boxes(q_there, turn & 1);
            const bool is_less_1 = 0 < count;
            if (is_less_1) {
                const uint rest = start % 3;
                const uint and_value_9 = (start / 3) & 1;
                await_boxes(k_there + rest, and_value_9);
                await_turn_3();
                const uint product_6 = warpgroup * 2048;
                begin_products();
                warpgroup_first_f16_nt_128(scores, matrix_at(stage, product_6, 0), matrix_at(stage, rest * 4096 + 6144, 0));
                warpgroup_f16_nt_128(scores, matrix_at(stage, product_6 + 8, 0), matrix_at(stage, rest * 4096 + 6144 + 8, 0));
                warpgroup_f16_nt_128(scores, matrix_at(stage, product_6 + 16, 0), matrix_at(stage, rest * 4096 + 6144 + 16, 0));
                warpgroup_f16_nt_128(scores, matrix_at(stage, product_6 + 24, 0), matrix_at(stage, rest * 4096 + 6144 + 24, 0));
                end_products();
                pass_turn_3();
                await_products_0();
                release_boxes(k_free + rest);
                const uint key = and_value * 2;
                const uint sum_6 = first + own_row;
                const int sum_8 = (int)((uint)converted_2 + (uint)behind + 1);
                const int smaller_1 = min(converted, sum_8);
                if (128 > smaller_1) {
                    const int sum_10 = (int)((uint)(int)sum_6 + (uint)behind + 1);
                    const int smaller_2 = min(converted, sum_10);
                    #pragma unroll 16
                    for (uint fragment = 0; fragment < 16; ++fragment) {
                        const uint product_8 = fragment * 4;
                        const uint product_9 = fragment * 8;
                        scores[product_8] = (int)(key + product_9) < smaller_2 ? scores[product_8] : -INFINITY;
                        const uint sum_12 = product_8 + 1;
                        scores[sum_12] = (int)(key + (product_9 + 1)) < smaller_2 ? scores[sum_12] : -INFINITY;
                    }
                    const int sum_17 = (int)((uint)(int)(sum_6 + 8) + (uint)behind + 1);
                    const int smaller_3 = min(converted, sum_17);
                    #pragma unroll 16
                    for (uint fragment_1 = 0; fragment_1 < 16; ++fragment_1) {
                        const uint product_10 = fragment_1 * 4;
                        const uint sum_18 = product_10 + 2;
                        const uint product_11 = fragment_1 * 8;
                        scores[sum_18] = (int)(key + product_11) < smaller_3 ? scores[sum_18] : -INFINITY;
                        const uint sum_20 = product_10 + 3;
                        scores[sum_20] = (int)(key + (product_11 + 1)) < smaller_3 ? scores[sum_20] : -INFINITY;
                    }
                }
                f32_3 = greatest_0;
                #pragma unroll 16
                for (uint fragment_2 = 0; fragment_2 < 16; ++fragment_2) {
                    const uint product_12 = fragment_2 * 4;
                    f32_3 = (fmax(f32_3, scores[product_12]));
                    f32_3 = (fmax(f32_3, scores[product_12 + 1]));
                }
                const uint xor_value_2 = and_value_1 ^ 1;
                const float shuffled = warp_shuffle_float(f32_3, xor_value_2);
                f32_3 = (fmax(f32_3, shuffled));
                const uint xor_value_3 = and_value_1 ^ 2;
                const float shuffled_1 = warp_shuffle_float(f32_3, xor_value_3);
                f32_3 = (fmax(f32_3, shuffled_1));
                f32_3 = (f32_3 - greatest_0) * scale > 8.0f ? f32_3 : greatest_0;
                const float base = f32_3 == -INFINITY ? 0.0f : -f32_3 * scale;
                const float factor = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(greatest_0, scale, base))); y; }));
                greatest_0 = f32_3;
                f32_1 = f32_1 * factor;
                #pragma unroll 16
                for (uint fragment_3 = 0; fragment_3 < 16; ++fragment_3) {
                    const uint product_16 = fragment_3 * 4;
                    const float value_4 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[product_16], scale, base))); y; }));
                    f32_1 = f32_1 + value_4;
                    scores[product_16] = value_4;
                    const uint sum_25 = product_16 + 1;
                    const float value_5 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[sum_25], scale, base))); y; }));
                    f32_1 = f32_1 + value_5;
                    scores[sum_25] = value_5;
                }
                f32_3 = greatest_1;
                #pragma unroll 16
                for (uint fragment_4 = 0; fragment_4 < 16; ++fragment_4) {
                    const uint product_17 = fragment_4 * 4;
                    f32_3 = (fmax(f32_3, scores[product_17 + 2]));
                    f32_3 = (fmax(f32_3, scores[product_17 + 3]));
                }
                const float shuffled_2 = warp_shuffle_float(f32_3, xor_value_2);
                f32_3 = (fmax(f32_3, shuffled_2));
                const float shuffled_3 = warp_shuffle_float(f32_3, xor_value_3);
                f32_3 = (fmax(f32_3, shuffled_3));
                f32_3 = (f32_3 - greatest_1) * scale > 8.0f ? f32_3 : greatest_1;
                const float base_1 = f32_3 == -INFINITY ? 0.0f : -f32_3 * scale;
                const float factor_1 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(greatest_1, scale, base_1))); y; }));
                greatest_1 = f32_3;
                f32_2 = f32_2 * factor_1;
                #pragma unroll 16
                for (uint fragment_5 = 0; fragment_5 < 16; ++fragment_5) {
                    const uint product_21 = fragment_5 * 4;
                    const uint sum_29 = product_21 + 2;
                    const float value_10 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[sum_29], scale, base_1))); y; }));
                    f32_2 = f32_2 + value_10;
                    scores[sum_29] = value_10;
                    const uint sum_31 = product_21 + 3;
                    const float value_11 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[sum_31], scale, base_1))); y; }));
                    f32_2 = f32_2 + value_11;
                    scores[sum_31] = value_11;
                }
                #pragma unroll 32
                for (uint word = 0; word < 32; ++word) {
                    const uint product_22 = word * 2;
                    weights[word] = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(scores[product_22 + 1]), "f"(scores[product_22])); y; }));
                }
                await_boxes(v_there + rest, and_value_9);
                for (uint block = 1; block < count; ++block) {
                    const uint number_1 = start + block;
                    const uint before = number_1 - 1;
                    const uint rest_1 = number_1 % 3;
                    const uint and_value_10 = (number_1 / 3) & 1;
                    await_boxes(k_there + rest_1, and_value_10);
                    await_turn_3();
                    begin_products();
                    warpgroup_first_f16_nt_128(scores, matrix_at(stage, product_6, 0), matrix_at(stage, rest_1 * 4096 + 6144, 0));
                    warpgroup_f16_nt_128(scores, matrix_at(stage, product_6 + 8, 0), matrix_at(stage, rest_1 * 4096 + 6144 + 8, 0));
                    warpgroup_f16_nt_128(scores, matrix_at(stage, product_6 + 16, 0), matrix_at(stage, rest_1 * 4096 + 6144 + 16, 0));
                    warpgroup_f16_nt_128(scores, matrix_at(stage, product_6 + 24, 0), matrix_at(stage, rest_1 * 4096 + 6144 + 24, 0));
                    end_products();
                    const uint rest_2 = before % 3;
                    begin_products();
                    warpgroup_f16_heldn_64(sums, weights, matrix_at(stage, rest_2 * 4096 + 18432, 16384));
                    warpgroup_f16_heldn_64(sums, weights + 4, matrix_at(stage, rest_2 * 4096 + 18432 + 512, 16384));
                    warpgroup_f16_heldn_64(sums, weights + 8, matrix_at(stage, rest_2 * 4096 + 18432 + 1024, 16384));
                    warpgroup_f16_heldn_64(sums, weights + 12, matrix_at(stage, rest_2 * 4096 + 18432 + 1536, 16384));
                    warpgroup_f16_heldn_64(sums, weights + 16, matrix_at(stage, rest_2 * 4096 + 18432 + 2048, 16384));
                    warpgroup_f16_heldn_64(sums, weights + 20, matrix_at(stage, rest_2 * 4096 + 18432 + 2560, 16384));
                    warpgroup_f16_heldn_64(sums, weights + 24, matrix_at(stage, rest_2 * 4096 + 18432 + 3072, 16384));
                    warpgroup_f16_heldn_64(sums, weights + 28, matrix_at(stage, rest_2 * 4096 + 18432 + 3584, 16384));
                    end_products();
                    pass_turn_3();
                    await_products_1();
                    release_boxes(k_free + rest_1);
                    const uint product_25 = block * 128;
                    const uint key_1 = product_25 + key;
                    if ((int)((uint)(int)product_25 + 128) > smaller_1) {
                        const int sum_38 = (int)((uint)(int)sum_6 + (uint)behind + 1);
                        const int smaller_4 = min(converted, sum_38);
                        #pragma unroll 16
                        for (uint fragment_6 = 0; fragment_6 < 16; ++fragment_6) {
                            const uint product_26 = fragment_6 * 4;
                            const uint product_27 = fragment_6 * 8;
                            scores[product_26] = (int)(key_1 + product_27) < smaller_4 ? scores[product_26] : -INFINITY;
                            const uint sum_40 = product_26 + 1;
                            scores[sum_40] = (int)(key_1 + (product_27 + 1)) < smaller_4 ? scores[sum_40] : -INFINITY;
                        }
                        const int sum_45 = (int)((uint)(int)(sum_6 + 8) + (uint)behind + 1);
                        const int smaller_5 = min(converted, sum_45);
                        #pragma unroll 16
                        for (uint fragment_7 = 0; fragment_7 < 16; ++fragment_7) {
                            const uint product_28 = fragment_7 * 4;
                            const uint sum_46 = product_28 + 2;
                            const uint product_29 = fragment_7 * 8;
                            scores[sum_46] = (int)(key_1 + product_29) < smaller_5 ? scores[sum_46] : -INFINITY;
                            const uint sum_48 = product_28 + 3;
                            scores[sum_48] = (int)(key_1 + (product_29 + 1)) < smaller_5 ? scores[sum_48] : -INFINITY;
                        }
                    }
                    f32_3 = greatest_0;
                    #pragma unroll 16
                    for (uint fragment_8 = 0; fragment_8 < 16; ++fragment_8) {
                        const uint product_30 = fragment_8 * 4;
                        f32_3 = (fmax(f32_3, scores[product_30]));
                        f32_3 = (fmax(f32_3, scores[product_30 + 1]));
                    }
                    const float shuffled_4 = warp_shuffle_float(f32_3, xor_value_2);
                    f32_3 = (fmax(f32_3, shuffled_4));
                    const float shuffled_5 = warp_shuffle_float(f32_3, xor_value_3);
                    f32_3 = (fmax(f32_3, shuffled_5));
                    f32_3 = (f32_3 - greatest_0) * scale > 8.0f ? f32_3 : greatest_0;
                    const float base_2 = f32_3 == -INFINITY ? 0.0f : -f32_3 * scale;
                    const float factor_2 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(greatest_0, scale, base_2))); y; }));
                    greatest_0 = f32_3;
                    f32_1 = f32_1 * factor_2;
                    #pragma unroll 16
                    for (uint fragment_9 = 0; fragment_9 < 16; ++fragment_9) {
                        const uint product_34 = fragment_9 * 4;
                        const float value_17 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[product_34], scale, base_2))); y; }));
                        f32_1 = f32_1 + value_17;
                        scores[product_34] = value_17;
                        const uint sum_53 = product_34 + 1;
                        const float value_18 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[sum_53], scale, base_2))); y; }));
                        f32_1 = f32_1 + value_18;
                        scores[sum_53] = value_18;
                    }
                    f32_3 = greatest_1;
                    #pragma unroll 16
                    for (uint fragment_10 = 0; fragment_10 < 16; ++fragment_10) {
                        const uint product_35 = fragment_10 * 4;
                        f32_3 = (fmax(f32_3, scores[product_35 + 2]));
                        f32_3 = (fmax(f32_3, scores[product_35 + 3]));
                    }
                    const float shuffled_6 = warp_shuffle_float(f32_3, xor_value_2);
                    f32_3 = (fmax(f32_3, shuffled_6));
                    const float shuffled_7 = warp_shuffle_float(f32_3, xor_value_3);
                    f32_3 = (fmax(f32_3, shuffled_7));
                    f32_3 = (f32_3 - greatest_1) * scale > 8.0f ? f32_3 : greatest_1;
                    const float base_3 = f32_3 == -INFINITY ? 0.0f : -f32_3 * scale;
                    const float factor_3 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(greatest_1, scale, base_3))); y; }));
                    greatest_1 = f32_3;
                    f32_2 = f32_2 * factor_3;
                    #pragma unroll 16
                    for (uint fragment_11 = 0; fragment_11 < 16; ++fragment_11) {
                        const uint product_39 = fragment_11 * 4;
                        const uint sum_57 = product_39 + 2;
                        const float value_23 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[sum_57], scale, base_3))); y; }));
                        f32_2 = f32_2 + value_23;
                        scores[sum_57] = value_23;
                        const uint sum_59 = product_39 + 3;
                        const float value_24 = (({ float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fma(scores[sum_59], scale, base_3))); y; }));
                        f32_2 = f32_2 + value_24;
                        scores[sum_59] = value_24;
                    }
                    await_boxes(v_there + rest_1, and_value_10);
                    await_products_0();
                    release_boxes(v_free + rest_2);
                    if (factor_2 != 1.0f || factor_3 != 1.0f) {
                        #pragma unroll 8
                        for (uint fragment_12 = 0; fragment_12 < 8; ++fragment_12) {
                            const uint product_40 = fragment_12 * 4;
                            sums[product_40] = sums[product_40] * factor_2;
                            const uint sum_61 = product_40 + 1;
                            sums[sum_61] = sums[sum_61] * factor_2;
                        }
                        #pragma unroll 8
                        for (uint fragment_13 = 0; fragment_13 < 8; ++fragment_13) {
                            const uint product_43 = fragment_13 * 4;
                            const uint sum_62 = product_43 + 2;
                            sums[sum_62] = sums[sum_62] * factor_3;
                            const uint sum_63 = product_43 + 3;
                            sums[sum_63] = sums[sum_63] * factor_3;
                        }
                    }
                    #pragma unroll 32
                    for (uint word_1 = 0; word_1 < 32; ++word_1) {
                        const uint product_46 = word_1 * 2;
                        weights[word_1] = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(scores[product_46 + 1]), "f"(scores[product_46])); y; }));
                    }
                }
            }
            release_boxes(q_free);
            if (is_less_1) {
                const uint last = start + count - 1;
                const uint rest_3 = last % 3;
                begin_products();
                warpgroup_f16_heldn_64(sums, weights, matrix_at(stage, rest_3 * 4096 + 18432, 16384));
                warpgroup_f16_heldn_64(sums, weights + 4, matrix_at(stage, rest_3 * 4096 + 18432 + 512, 16384));
                warpgroup_f16_heldn_64(sums, weights + 8, matrix_at(stage, rest_3 * 4096 + 18432 + 1024, 16384));
                warpgroup_f16_heldn_64(sums, weights + 12, matrix_at(stage, rest_3 * 4096 + 18432 + 1536, 16384));
                warpgroup_f16_heldn_64(sums, weights + 16, matrix_at(stage, rest_3 * 4096 + 18432 + 2048, 16384));
                warpgroup_f16_heldn_64(sums, weights + 20, matrix_at(stage, rest_3 * 4096 + 18432 + 2560, 16384));
                warpgroup_f16_heldn_64(sums, weights + 24, matrix_at(stage, rest_3 * 4096 + 18432 + 3072, 16384));
                warpgroup_f16_heldn_64(sums, weights + 28, matrix_at(stage, rest_3 * 4096 + 18432 + 3584, 16384));
                end_products();
                await_products_0();
                release_boxes(v_free + rest_3);
            }
            u32_0 = start + count;
            const uint outer = head / own_heads;
            const uint outer_start = outer * outer_words;
            const uint rows = (head - outer * own_heads) * n;
            const float shuffled_8 = warp_shuffle_float(f32_1, xor_value);
            f32_1 = f32_1 + shuffled_8;
            const float shuffled_9 = warp_shuffle_float(f32_1, xor_value_1);
            f32_1 = f32_1 + shuffled_9;
            const bool is_none = f32_1 == 0.0f;
            const float inverse = is_none ? 0.0f : 1.0f / f32_1;
            const uint row = first + own_row;
            const bool is_there = row < n;
            const uint at = outer_start + (rows + row) * 32 + product_3;
            #pragma unroll 2
            for (uint fragment_14 = 0; fragment_14 < 8; fragment_14 += 4) {
                const uint product_50 = fragment_14 * 4;
                const uint value_26 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"((sums[product_50 + 1] * inverse)), "f"((sums[product_50] * inverse))); y; }));
                const uint product_53 = (fragment_14 + 1) * 4;
                const uint value_27 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"((sums[product_53 + 1] * inverse)), "f"((sums[product_53] * inverse))); y; }));
                const uint product_56 = (fragment_14 + 2) * 4;
                const uint value_28 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"((sums[product_56 + 1] * inverse)), "f"((sums[product_56] * inverse))); y; }));
                const uint product_59 = (fragment_14 + 3) * 4;
                const uint value_29 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"((sums[product_59 + 1] * inverse)), "f"((sums[product_59] * inverse))); y; }));
                const uint theirs = warp_shuffle_uint(is_upper ? value_26 : value_27, xor_value);
                const uint chosen_13 = is_upper ? theirs : value_26;
                const uint chosen_14 = is_upper ? value_27 : theirs;
                const uint theirs_1 = warp_shuffle_uint(is_upper ? value_28 : value_29, xor_value);
                const uint chosen_16 = is_upper ? theirs_1 : value_28;
                const uint chosen_17 = is_upper ? value_29 : theirs_1;
                const uint theirs_2 = warp_shuffle_uint(is_upper_1 ? chosen_13 : chosen_16, xor_value_1);
                const uint chosen_19 = is_upper_1 ? theirs_2 : chosen_13;
                const uint chosen_20 = is_upper_1 ? chosen_16 : theirs_2;
                const uint theirs_3 = warp_shuffle_uint(is_upper_1 ? chosen_14 : chosen_17, xor_value_1);
                const uint chosen_22 = is_upper_1 ? theirs_3 : chosen_14;
                const uint chosen_23 = is_upper_1 ? chosen_17 : theirs_3;
                if (is_there) {
                    STORE(uint4, y + (at + product_50), (uint4)(chosen_19, chosen_22, chosen_20, chosen_23));
                }
            }
            if (is_there && is_equal_1) {
                logs[outer_start + rows + row] = is_none ? INFINITY : fma(greatest_0, scale, log2(f32_1));
            }
            const float shuffled_10 = warp_shuffle_float(f32_2, xor_value);
            f32_2 = f32_2 + shuffled_10;
            const float shuffled_11 = warp_shuffle_float(f32_2, xor_value_1);
            f32_2 = f32_2 + shuffled_11;
            const bool is_none_1 = f32_2 == 0.0f;
            const float inverse_1 = is_none_1 ? 0.0f : 1.0f / f32_2;
            const uint row_1 = row + 8;
            const bool is_there_1 = row_1 < n;
            const uint at_1 = outer_start + (rows + row_1) * 32 + product_3;
            #pragma unroll 2
            for (uint fragment_15 = 0; fragment_15 < 8; fragment_15 += 4) {
                const uint product_63 = fragment_15 * 4;
                const float product_65 = sums[product_63 + 3] * inverse_1;
                const uint value_30 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(product_65), "f"((sums[product_63 + 2] * inverse_1))); y; }));
                const uint product_66 = (fragment_15 + 1) * 4;
                const float product_68 = sums[product_66 + 3] * inverse_1;
                const uint value_31 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(product_68), "f"((sums[product_66 + 2] * inverse_1))); y; }));
                const uint product_69 = (fragment_15 + 2) * 4;
                const float product_71 = sums[product_69 + 3] * inverse_1;
                const uint value_32 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(product_71), "f"((sums[product_69 + 2] * inverse_1))); y; }));
                const uint product_72 = (fragment_15 + 3) * 4;
                const float product_74 = sums[product_72 + 3] * inverse_1;
                const uint value_33 = (({ uint y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(product_74), "f"((sums[product_72 + 2] * inverse_1))); y; }));
                const uint theirs_4 = warp_shuffle_uint(is_upper_2 ? value_30 : value_31, xor_value);
                const uint chosen_26 = is_upper_2 ? theirs_4 : value_30;
                const uint chosen_27 = is_upper_2 ? value_31 : theirs_4;
                const uint theirs_5 = warp_shuffle_uint(is_upper_2 ? value_32 : value_33, xor_value);
                const uint chosen_29 = is_upper_2 ? theirs_5 : value_32;
                const uint chosen_30 = is_upper_2 ? value_33 : theirs_5;
                const uint theirs_6 = warp_shuffle_uint(is_upper_3 ? chosen_26 : chosen_29, xor_value_1);
                const uint chosen_32 = is_upper_3 ? theirs_6 : chosen_26;
                const uint chosen_33 = is_upper_3 ? chosen_29 : theirs_6;
                const uint theirs_7 = warp_shuffle_uint(is_upper_3 ? chosen_27 : chosen_30, xor_value_1);
                const uint chosen_35 = is_upper_3 ? theirs_7 : chosen_27;
                const uint chosen_36 = is_upper_3 ? chosen_30 : theirs_7;
                if (is_there_1) {
                    STORE(uint4, y + (at_1 + product_63), (uint4)(chosen_32, chosen_35, chosen_33, chosen_36));
                }
            }
            if (is_there_1 && is_equal_1) {
                logs[outer_start + rows + row_1] = is_none_1 ? INFINITY : fma(greatest_1, scale, log2(f32_2));
            }
        }
        close_turn_3();
    } else {
        leave_registers_32();
        if (item == 384) {
            u32_0 = 0u;
            const uint product_75 = tiles * heads_at_once;
            const uint difference_8 = tiles - 1;
            for (uint number_2 = group; number_2 < all_tiles; number_2 += groups) {
                const uint first_head_1 = number_2 / product_75 * heads_at_once;
                const uint within_1 = number_2 - first_head_1 * tiles;
                const uint difference_9 = all_heads - first_head_1;
                const uint together_1 = min(heads_at_once, difference_9);
                const uint tile_1 = within_1 / together_1;
                const uint head_1 = first_head_1 + within_1 - tile_1 * together_1;
                const uint turn_1 = number_2 / groups;
                const uint first_1 = (difference_8 - tile_1) * 192;
                const uint key_head = head_1 / shared;
                const int sum_102 = (int)((uint)(int)first_1 + 192 + (uint)behind);
                const int smaller_6 = min(converted, sum_102);
                const int seen_1 = max(smaller_6, 0);
                const int sum_103 = (int)((uint)seen_1 + 127);
                int quotient_7;
                if (128 == 0) {
                    quotient_7 = 0;
                } else if (128 == -1) {
                    quotient_7 = (int)(0 - (uint)sum_103);  /* the least integer wraps to itself */
                } else {
                    quotient_7 = sum_103 / 128;
                    if (sum_103 % 128 != 0 && (sum_103 < 0) != (128 < 0))
                        quotient_7 -= 1;
                }
                const uint count_1 = (uint)quotient_7;
                const uint start_1 = u32_0;
                await_boxes(q_free, (turn_1 + 1) & 1);
                copy_box(stage, maps + (q_map + head_1) * 32, 0u, first_1, 24576, q_there);
                const uint product_79 = (k_map + key_head) * 32;
                const uint product_80 = (v_map + key_head) * 32;
                for (uint block_1 = 0; block_1 < count_1; ++block_1) {
                    const uint sum_108 = start_1 + block_1;
                    const uint product_81 = block_1 * 128;
                    const uint rest_4 = sum_108 % 3;
                    const uint and_value_14 = (sum_108 / 3 + 1) & 1;
                    await_boxes(k_free + rest_4, and_value_14);
                    const uint product_82 = rest_4 * 4096;
                    copy_box(stage + (product_82 + 6144), maps + product_79, 0u, product_81, 16384, k_there + rest_4);
                    await_boxes(v_free + rest_4, and_value_14);
                    copy_box(stage + (product_82 + 18432), maps + product_80, 0u, product_81, 16384, v_there + rest_4);
                }
                u32_0 = start_1 + count_1;
            }
        }
    }
}
