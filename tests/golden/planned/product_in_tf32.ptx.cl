/* y = tanh(a @ b)    f32, in f32, by matrix instructions of tf32, tiles of 256 x 128 x 32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

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

static inline void begin_products(void)
{
    asm volatile("//@wgmma.fence.sync.aligned;" ::: "memory");
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

/* Where a matrix in local memory begins, how far its blocks are apart, and that its rows of 128 bytes are swizzled. */
static inline ulong matrix_at(__local const uint *words, const uint begin, const uint block)
{
    const uint address = (uint)(size_t)words + 4 * begin;
    return (address & 0x3ffff) >> 4 | (ulong)(block >> 4) << 16 | (ulong)(1024 >> 4) << 32 | (ulong)1 << 62;
}

/* Adds a 64 x 8 matrix times an 8 x 256 one to the sums that 128 work-items hold. */
static inline void warpgroup_tf32_heldt_256(float *sums, const uint *left, const ulong right)
{
    asm volatile("//@{ .reg .pred p; setp.eq.u32 p, 1, 1; "
                 "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "{%128, %129, %130, %131}, %132, p, 1, 1; }"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7]),
                   "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]), "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]),
                   "+f"(sums[16]), "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]), "+f"(sums[22]), "+f"(sums[23]),
                   "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]), "+f"(sums[27]), "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31]),
                   "+f"(sums[32]), "+f"(sums[33]), "+f"(sums[34]), "+f"(sums[35]), "+f"(sums[36]), "+f"(sums[37]), "+f"(sums[38]), "+f"(sums[39]),
                   "+f"(sums[40]), "+f"(sums[41]), "+f"(sums[42]), "+f"(sums[43]), "+f"(sums[44]), "+f"(sums[45]), "+f"(sums[46]), "+f"(sums[47]),
                   "+f"(sums[48]), "+f"(sums[49]), "+f"(sums[50]), "+f"(sums[51]), "+f"(sums[52]), "+f"(sums[53]), "+f"(sums[54]), "+f"(sums[55]),
                   "+f"(sums[56]), "+f"(sums[57]), "+f"(sums[58]), "+f"(sums[59]), "+f"(sums[60]), "+f"(sums[61]), "+f"(sums[62]), "+f"(sums[63]),
                   "+f"(sums[64]), "+f"(sums[65]), "+f"(sums[66]), "+f"(sums[67]), "+f"(sums[68]), "+f"(sums[69]), "+f"(sums[70]), "+f"(sums[71]),
                   "+f"(sums[72]), "+f"(sums[73]), "+f"(sums[74]), "+f"(sums[75]), "+f"(sums[76]), "+f"(sums[77]), "+f"(sums[78]), "+f"(sums[79]),
                   "+f"(sums[80]), "+f"(sums[81]), "+f"(sums[82]), "+f"(sums[83]), "+f"(sums[84]), "+f"(sums[85]), "+f"(sums[86]), "+f"(sums[87]),
                   "+f"(sums[88]), "+f"(sums[89]), "+f"(sums[90]), "+f"(sums[91]), "+f"(sums[92]), "+f"(sums[93]), "+f"(sums[94]), "+f"(sums[95]),
                   "+f"(sums[96]), "+f"(sums[97]), "+f"(sums[98]), "+f"(sums[99]), "+f"(sums[100]), "+f"(sums[101]), "+f"(sums[102]), "+f"(sums[103]),
                   "+f"(sums[104]), "+f"(sums[105]), "+f"(sums[106]), "+f"(sums[107]), "+f"(sums[108]), "+f"(sums[109]), "+f"(sums[110]), "+f"(sums[111]),
                   "+f"(sums[112]), "+f"(sums[113]), "+f"(sums[114]), "+f"(sums[115]), "+f"(sums[116]), "+f"(sums[117]), "+f"(sums[118]), "+f"(sums[119]),
                   "+f"(sums[120]), "+f"(sums[121]), "+f"(sums[122]), "+f"(sums[123]), "+f"(sums[124]), "+f"(sums[125]), "+f"(sums[126]), "+f"(sums[127])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right)
                 : "memory");
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void contract_tanh(const uint m,
                   const uint n,
                   const uint k,
                   const uint matrices,
                   __global const uint *restrict a_buffer,
                   const ulong a_offset,
                   const uint a_stride0,
                   __global const uint *restrict b_buffer,
                   const ulong b_offset,
                   const uint b_stride0,
                   __global const uint *restrict maps_buffer,
                   const ulong maps_offset,
                   const uint per,
                   const uint tiles_down,
                   const uint tiles_across,
                   const uint raster,
                   const uint tiles,
                   __global float *restrict y_buffer,
                   const ulong y_offset,
                   const uint y_stride0,
                   const uint y_stride1)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *b = AT(b_buffer, b_offset);
    __global const uint *maps = AT(maps_buffer, maps_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint item = get_local_id(0);
    __local uint stage[57600] __attribute__((aligned(1024)));
    const uint down = item / 128;
    float sums[128];
    #pragma unroll 128
    for (uint i = 0; i < 128; ++i) {
        sums[i] = 0.0f;
    }
    const uint and_value = (item >> 5) & 3;
    const uint and_value_1 = (item >> 2) & 7;
    const uint and_value_2 = item & 3;
    const uint product_1 = ((and_value_1 >> 1) & 1) * 4;
    const uint unit = (and_value & 1) * 2 + (and_value_1 >> 2) + product_1;
    uint held[16];
    const uint groups = get_num_groups(0);
    __local ulong there[4];
    const bool is_first = item == 0;
    if (is_first) {
        init_boxes(there, 4, 5);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint coming_steps = 0u;
    uint coming_begin = 0u;
    uint coming_maps = 0u;
    uint coming_place = 0u;
    uint coming_place_1 = 0u;
    uint following = group;
    uint turn = 0u;
    for (uint step_1 = 0; step_1 < 2; ++step_1) {
        if (coming_steps == 0 && following < tiles) {
            const uint product_2 = tiles_down * tiles_across;
            const uint rest = following % product_2;
            const uint quotient = following / product_2;
            const uint product_3 = raster * tiles_across;
            const uint product_4 = rest / product_3 * raster;
            const uint rest_1 = rest % product_3;
            const uint difference = tiles_down - product_4;
            const uint smaller = min(difference, raster);
            const uint row = (product_4 + rest_1 % smaller) * 256;
            const uint column = rest_1 / smaller * 128;
            const uint begin = quotient * per;
            const uint difference_1 = k - begin;
            const uint count = min(difference_1, per);
            const uint steps = (count + 31) / 32;
            coming_steps = steps;
            coming_begin = begin;
            coming_maps = quotient % matrices * 64;
            coming_place = row;
            coming_place_1 = column;
            following = following + groups;
        }
        if (coming_steps > 0) {
            if (is_first) {
                const uint rest_4 = step_1 % 4;
                const uint product_6 = rest_4 * 12288;
                copy_box(stage + product_6, maps + coming_maps, coming_begin, coming_place, 32768, there + rest_4);
                const uint sum_4 = coming_maps + 32;
                copy_box(stage + (product_6 + 8192), maps + sum_4, coming_place_1, coming_begin, 4096, there + rest_4);
                copy_box(stage + (product_6 + 9216), maps + sum_4, coming_place_1 + 32, coming_begin, 4096, there + rest_4);
                copy_box(stage + (product_6 + 10240), maps + sum_4, coming_place_1 + 64, coming_begin, 4096, there + rest_4);
                copy_box(stage + (product_6 + 11264), maps + sum_4, coming_place_1 + 96, coming_begin, 4096, there + rest_4);
            }
            coming_begin = coming_begin + 32;
            coming_steps = coming_steps - 1;
        }
    }
    const uint product_7 = tiles_down * tiles_across;
    const uint product_8 = raster * tiles_across;
    const uint product_10 = (down * 2 + (and_value >> 1)) * 1024;
    const uint product_11 = and_value_2 * 32;
    const uint xor_value = unit ^ and_value_2;
    const uint product_12 = (and_value_1 & 1) * 2;
    const uint sum_14 = xor_value * 4 + product_12;
    const uint sum_16 = (xor_value ^ 4) * 4 + product_12 + 128;
    for (uint number = group; number < tiles; number += groups) {
        const uint rest_5 = number % product_7;
        const uint quotient_3 = number / product_7;
        const uint product_15 = rest_5 / product_8 * raster;
        const uint rest_6 = rest_5 % product_8;
        const uint difference_3 = tiles_down - product_15;
        const uint smaller_1 = min(difference_3, raster);
        const uint row_1 = (product_15 + rest_6 % smaller_1) * 256;
        const uint column_1 = rest_6 / smaller_1 * 128;
        const uint begin_1 = quotient_3 * per;
        const uint difference_4 = k - begin_1;
        const uint count_1 = min(difference_4, per);
        const uint steps_1 = (count_1 + 31) / 32;
        const uint first = turn;
        #pragma unroll 128
        for (uint i_1 = 0; i_1 < 128; ++i_1) {
            sums[i_1] = 0.0f;
        }
        for (uint step_2 = 0; step_2 < steps_1; ++step_2) {
            const uint number_1 = first + step_2;
            const uint rest_8 = number_1 % 4;
            await_boxes(there + rest_8, (number_1 / 4) & 1);
            const uint product_16 = rest_8 * 12288;
            const uint sum_21 = product_16 + 8192 + product_10 + product_11;
            const ulong held_at = (ulong)(sum_21 + sum_14);
            const ulong held_at_1 = (ulong)(sum_21 + sum_16);
            const uint2 pair = LOAD_LOCAL(uint2, stage + held_at);
            held[0] = pair.s0;
            held[1] = pair.s1;
            const uint2 pair_1 = LOAD_LOCAL(uint2, stage + held_at_1);
            held[2] = pair_1.s0;
            held[3] = pair_1.s1;
            const uint2 pair_2 = LOAD_LOCAL(uint2, stage + (held_at + 256));
            held[4] = pair_2.s0;
            held[5] = pair_2.s1;
            const uint2 pair_3 = LOAD_LOCAL(uint2, stage + (held_at_1 + 256));
            held[6] = pair_3.s0;
            held[7] = pair_3.s1;
            begin_products();
            warpgroup_tf32_heldt_256(sums, held, matrix_at(stage, product_16, 0));
            warpgroup_tf32_heldt_256(sums, held + 4, matrix_at(stage, product_16 + 8, 0));
            end_products();
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint sum_26 = number_1 + 2;
            if (coming_steps == 0 && following < tiles) {
                const uint rest_9 = following % product_7;
                const uint quotient_7 = following / product_7;
                const uint product_17 = rest_9 / product_8 * raster;
                const uint rest_10 = rest_9 % product_8;
                const uint difference_5 = tiles_down - product_17;
                const uint smaller_2 = min(difference_5, raster);
                const uint row_2 = (product_17 + rest_10 % smaller_2) * 256;
                const uint column_2 = rest_10 / smaller_2 * 128;
                const uint begin_2 = quotient_7 * per;
                const uint difference_6 = k - begin_2;
                const uint count_2 = min(difference_6, per);
                const uint steps_2 = (count_2 + 31) / 32;
                coming_steps = steps_2;
                coming_begin = begin_2;
                coming_maps = quotient_7 % matrices * 64;
                coming_place = row_2;
                coming_place_1 = column_2;
                following = following + groups;
            }
            if (coming_steps > 0) {
                if (is_first) {
                    const uint rest_13 = sum_26 % 4;
                    const uint product_19 = rest_13 * 12288;
                    copy_box(stage + product_19, maps + coming_maps, coming_begin, coming_place, 32768, there + rest_13);
                    const uint sum_30 = coming_maps + 32;
                    copy_box(stage + (product_19 + 8192), maps + sum_30, coming_place_1, coming_begin, 4096, there + rest_13);
                    copy_box(stage + (product_19 + 9216), maps + sum_30, coming_place_1 + 32, coming_begin, 4096, there + rest_13);
                    copy_box(stage + (product_19 + 10240), maps + sum_30, coming_place_1 + 64, coming_begin, 4096, there + rest_13);
                    copy_box(stage + (product_19 + 11264), maps + sum_30, coming_place_1 + 96, coming_begin, 4096, there + rest_13);
                }
                coming_begin = coming_begin + 32;
                coming_steps = coming_steps - 1;
            }
            await_products_1();
            const uint2 pair_4 = LOAD_LOCAL(uint2, stage + (held_at + 512));
            held[8] = pair_4.s0;
            held[9] = pair_4.s1;
            const uint2 pair_5 = LOAD_LOCAL(uint2, stage + (held_at_1 + 512));
            held[10] = pair_5.s0;
            held[11] = pair_5.s1;
            const uint2 pair_6 = LOAD_LOCAL(uint2, stage + (held_at + 768));
            held[12] = pair_6.s0;
            held[13] = pair_6.s1;
            const uint2 pair_7 = LOAD_LOCAL(uint2, stage + (held_at_1 + 768));
            held[14] = pair_7.s0;
            held[15] = pair_7.s1;
            begin_products();
            warpgroup_tf32_heldt_256(sums, held + 8, matrix_at(stage, product_16 + 16, 0));
            warpgroup_tf32_heldt_256(sums, held + 8 + 4, matrix_at(stage, product_16 + 24, 0));
            end_products();
            await_products_1();
        }
        await_products_0();
        turn = first + steps_1;
        for (uint band = 0; band < 4; ++band) {
            if (band == 0) {
                const uint sum_45 = down * 64 + (and_value >> 1) * 32 + unit * 4;
                const uint sum_47 = and_value_2 * 132 + (sum_45 + (and_value_1 & 1) * 2);
                const uint sums_at = sum_47 + 49152;
                STORE_LOCAL(uint2, stage + sums_at, as_uint2((float2)(sums[0], sums[2])));
                STORE_LOCAL(uint2, stage + (sum_47 + 49680), as_uint2((float2)(sums[1], sums[3])));
                STORE_LOCAL(uint2, stage + (sum_47 + 50208), as_uint2((float2)(sums[4], sums[6])));
                STORE_LOCAL(uint2, stage + (sum_47 + 50736), as_uint2((float2)(sums[5], sums[7])));
                STORE_LOCAL(uint2, stage + (sum_47 + 51264), as_uint2((float2)(sums[8], sums[10])));
                STORE_LOCAL(uint2, stage + (sum_47 + 51792), as_uint2((float2)(sums[9], sums[11])));
                STORE_LOCAL(uint2, stage + (sum_47 + 52320), as_uint2((float2)(sums[12], sums[14])));
                STORE_LOCAL(uint2, stage + (sum_47 + 52848), as_uint2((float2)(sums[13], sums[15])));
                STORE_LOCAL(uint2, stage + (sum_47 + 53376), as_uint2((float2)(sums[16], sums[18])));
                STORE_LOCAL(uint2, stage + (sum_47 + 53904), as_uint2((float2)(sums[17], sums[19])));
                STORE_LOCAL(uint2, stage + (sum_47 + 54432), as_uint2((float2)(sums[20], sums[22])));
                STORE_LOCAL(uint2, stage + (sum_47 + 54960), as_uint2((float2)(sums[21], sums[23])));
                STORE_LOCAL(uint2, stage + (sum_47 + 55488), as_uint2((float2)(sums[24], sums[26])));
                STORE_LOCAL(uint2, stage + (sum_47 + 56016), as_uint2((float2)(sums[25], sums[27])));
                STORE_LOCAL(uint2, stage + (sum_47 + 56544), as_uint2((float2)(sums[28], sums[30])));
                STORE_LOCAL(uint2, stage + (sum_47 + 57072), as_uint2((float2)(sums[29], sums[31])));
            }
            if (band == 1) {
                const uint sum_64 = down * 64 + (and_value >> 1) * 32 + unit * 4;
                const uint sum_66 = and_value_2 * 132 + (sum_64 + (and_value_1 & 1) * 2);
                const uint sums_at_1 = sum_66 + 49152;
                STORE_LOCAL(uint2, stage + sums_at_1, as_uint2((float2)(sums[32], sums[34])));
                STORE_LOCAL(uint2, stage + (sum_66 + 49680), as_uint2((float2)(sums[33], sums[35])));
                STORE_LOCAL(uint2, stage + (sum_66 + 50208), as_uint2((float2)(sums[36], sums[38])));
                STORE_LOCAL(uint2, stage + (sum_66 + 50736), as_uint2((float2)(sums[37], sums[39])));
                STORE_LOCAL(uint2, stage + (sum_66 + 51264), as_uint2((float2)(sums[40], sums[42])));
                STORE_LOCAL(uint2, stage + (sum_66 + 51792), as_uint2((float2)(sums[41], sums[43])));
                STORE_LOCAL(uint2, stage + (sum_66 + 52320), as_uint2((float2)(sums[44], sums[46])));
                STORE_LOCAL(uint2, stage + (sum_66 + 52848), as_uint2((float2)(sums[45], sums[47])));
                STORE_LOCAL(uint2, stage + (sum_66 + 53376), as_uint2((float2)(sums[48], sums[50])));
                STORE_LOCAL(uint2, stage + (sum_66 + 53904), as_uint2((float2)(sums[49], sums[51])));
                STORE_LOCAL(uint2, stage + (sum_66 + 54432), as_uint2((float2)(sums[52], sums[54])));
                STORE_LOCAL(uint2, stage + (sum_66 + 54960), as_uint2((float2)(sums[53], sums[55])));
                STORE_LOCAL(uint2, stage + (sum_66 + 55488), as_uint2((float2)(sums[56], sums[58])));
                STORE_LOCAL(uint2, stage + (sum_66 + 56016), as_uint2((float2)(sums[57], sums[59])));
                STORE_LOCAL(uint2, stage + (sum_66 + 56544), as_uint2((float2)(sums[60], sums[62])));
                STORE_LOCAL(uint2, stage + (sum_66 + 57072), as_uint2((float2)(sums[61], sums[63])));
            }
            if (band == 2) {
                const uint sum_83 = down * 64 + (and_value >> 1) * 32 + unit * 4;
                const uint sum_85 = and_value_2 * 132 + (sum_83 + (and_value_1 & 1) * 2);
                const uint sums_at_2 = sum_85 + 49152;
                STORE_LOCAL(uint2, stage + sums_at_2, as_uint2((float2)(sums[64], sums[66])));
                STORE_LOCAL(uint2, stage + (sum_85 + 49680), as_uint2((float2)(sums[65], sums[67])));
                STORE_LOCAL(uint2, stage + (sum_85 + 50208), as_uint2((float2)(sums[68], sums[70])));
                STORE_LOCAL(uint2, stage + (sum_85 + 50736), as_uint2((float2)(sums[69], sums[71])));
                STORE_LOCAL(uint2, stage + (sum_85 + 51264), as_uint2((float2)(sums[72], sums[74])));
                STORE_LOCAL(uint2, stage + (sum_85 + 51792), as_uint2((float2)(sums[73], sums[75])));
                STORE_LOCAL(uint2, stage + (sum_85 + 52320), as_uint2((float2)(sums[76], sums[78])));
                STORE_LOCAL(uint2, stage + (sum_85 + 52848), as_uint2((float2)(sums[77], sums[79])));
                STORE_LOCAL(uint2, stage + (sum_85 + 53376), as_uint2((float2)(sums[80], sums[82])));
                STORE_LOCAL(uint2, stage + (sum_85 + 53904), as_uint2((float2)(sums[81], sums[83])));
                STORE_LOCAL(uint2, stage + (sum_85 + 54432), as_uint2((float2)(sums[84], sums[86])));
                STORE_LOCAL(uint2, stage + (sum_85 + 54960), as_uint2((float2)(sums[85], sums[87])));
                STORE_LOCAL(uint2, stage + (sum_85 + 55488), as_uint2((float2)(sums[88], sums[90])));
                STORE_LOCAL(uint2, stage + (sum_85 + 56016), as_uint2((float2)(sums[89], sums[91])));
                STORE_LOCAL(uint2, stage + (sum_85 + 56544), as_uint2((float2)(sums[92], sums[94])));
                STORE_LOCAL(uint2, stage + (sum_85 + 57072), as_uint2((float2)(sums[93], sums[95])));
            }
            if (band == 3) {
                const uint sum_102 = down * 64 + (and_value >> 1) * 32 + unit * 4;
                const uint sum_104 = and_value_2 * 132 + (sum_102 + (and_value_1 & 1) * 2);
                const uint sums_at_3 = sum_104 + 49152;
                STORE_LOCAL(uint2, stage + sums_at_3, as_uint2((float2)(sums[96], sums[98])));
                STORE_LOCAL(uint2, stage + (sum_104 + 49680), as_uint2((float2)(sums[97], sums[99])));
                STORE_LOCAL(uint2, stage + (sum_104 + 50208), as_uint2((float2)(sums[100], sums[102])));
                STORE_LOCAL(uint2, stage + (sum_104 + 50736), as_uint2((float2)(sums[101], sums[103])));
                STORE_LOCAL(uint2, stage + (sum_104 + 51264), as_uint2((float2)(sums[104], sums[106])));
                STORE_LOCAL(uint2, stage + (sum_104 + 51792), as_uint2((float2)(sums[105], sums[107])));
                STORE_LOCAL(uint2, stage + (sum_104 + 52320), as_uint2((float2)(sums[108], sums[110])));
                STORE_LOCAL(uint2, stage + (sum_104 + 52848), as_uint2((float2)(sums[109], sums[111])));
                STORE_LOCAL(uint2, stage + (sum_104 + 53376), as_uint2((float2)(sums[112], sums[114])));
                STORE_LOCAL(uint2, stage + (sum_104 + 53904), as_uint2((float2)(sums[113], sums[115])));
                STORE_LOCAL(uint2, stage + (sum_104 + 54432), as_uint2((float2)(sums[116], sums[118])));
                STORE_LOCAL(uint2, stage + (sum_104 + 54960), as_uint2((float2)(sums[117], sums[119])));
                STORE_LOCAL(uint2, stage + (sum_104 + 55488), as_uint2((float2)(sums[120], sums[122])));
                STORE_LOCAL(uint2, stage + (sum_104 + 56016), as_uint2((float2)(sums[121], sums[123])));
                STORE_LOCAL(uint2, stage + (sum_104 + 56544), as_uint2((float2)(sums[124], sums[126])));
                STORE_LOCAL(uint2, stage + (sum_104 + 57072), as_uint2((float2)(sums[125], sums[127])));
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint product_40 = band * 64;
            for (uint unit_1 = item; unit_1 < 2048; unit_1 += 256) {
                const uint quotient_10 = unit_1 / 32;
                const uint product_41 = unit_1 % 32 * 4;
                const float4 bits_64 = as_float4(LOAD_LOCAL(uint4, stage + (quotient_10 * 132 + product_41 + 49152)));
                const uint rest_15 = quotient_10 % 64;
                const uint and_value_14 = (rest_15 >> 2) & 1;
                const uint sum_125 = (rest_15 >> 3) * 8 + (rest_15 & 3) * 2 + and_value_14;
                const uint sum_126 = row_1 + quotient_10 / 64 * 256 + product_40 + sum_125;
                const uint sum_127 = column_1 + product_41;
                if (sum_126 < m && sum_127 < n) {
                    const float4 tanh_value = tanh(bits_64);
                    STORE(float4, y + (quotient_3 * y_stride0 + sum_126 * y_stride1 + sum_127 / 4) * 4, tanh_value);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
