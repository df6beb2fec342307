/* 1-D, u32, 16 elements a work-item and turn, a cache of 2048 slots a group */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lt_scatter_add(const uint n,
                    const uint blocks,
                    const uint per,
                    const uint s,
                    const uint n0,
                    const uint s0,
                    __global const int *restrict a_buffer,
                    const ulong a_offset,
                    const ulong s1,
                    __global volatile uint *restrict y_buffer,
                    const ulong y_offset)
{
    __global const int *a = AT(a_buffer, a_offset);
    __global volatile uint *y = AT(y_buffer, y_offset);
    __local uint joined[2048];
    __local uint tags[2048];
    const int lane = get_local_id(0);
    for (int slot = lane; slot < 2048; slot += 256) {
        joined[slot] = 0u;
        tags[slot] = 0u;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint places[16];
    uint values[16];
    const int group = get_group_id(0);
    const uint begin = (uint)group * per;
    const uint sum = begin + per;
    uint place = 4294967295u;
    uint total = 0u;
    const uint converted_1 = (uint)lane;
    for (uint tile = begin; tile < min(sum, blocks); tile += 1024) {
        const uint sum_1 = tile + converted_1;
        #pragma unroll 4
        for (int stripe = 0; stripe < 4; ++stripe) {
            const uint block = sum_1 + (uint)(stripe * 256);
            if ((block + 1) * 4 <= n) {
                const int4 a_i = LOAD(int4, a + block * 4);
                const char4 is_less = convert_char4(convert_ulong4(a_i) < s1);
                const uint4 converted_4 = convert_uint4(a_i);
                const int product_2 = stripe * 4;
                places[product_2] = is_less.s0 != 0 ? converted_4.s0 : 4294967295u;
                values[product_2] = s0;
                const int sum_3 = product_2 + 1;
                places[sum_3] = is_less.s1 != 0 ? converted_4.s1 : 4294967295u;
                values[sum_3] = s0;
                const int sum_4 = product_2 + 2;
                places[sum_4] = is_less.s2 != 0 ? converted_4.s2 : 4294967295u;
                values[sum_4] = s0;
                const int sum_5 = product_2 + 3;
                places[sum_5] = is_less.s3 != 0 ? converted_4.s3 : 4294967295u;
                values[sum_5] = s0;
            } else {
                const int product_3 = stripe * 4;
                const uint product_4 = block * 4;
                #pragma unroll 4
                for (int step_1 = 0; step_1 < 4; ++step_1) {
                    const int sum_6 = product_3 + step_1;
                    places[sum_6] = 4294967295u;
                    values[sum_6] = 0u;
                    const uint sum_7 = product_4 + (uint)step_1;
                    if (sum_7 < n) {
                        const int a_i_1 = a[sum_7];
                        places[sum_6] = (ulong)a_i_1 < s1 ? (uint)a_i_1 : 4294967295u;
                        values[sum_6] = s0;
                    }
                }
            }
        }
        #pragma unroll 16
        for (int number = 0; number < 16; ++number) {
            if (places[number] == place) {
                const uint total_1 = total + values[number];
                total = total_1;
            } else {
                const uint kept = place;
                const uint kept_1 = total;
                if (kept != 4294967295u) {
                    const uint slot_1 = (kept * 2654435769u) >> 21;
                    const uint tag = kept + 1;
                    const int converted_8 = (int)slot_1;
                    const uint before = atomic_cmpxchg(tags + converted_8, 0u, tag);
                    if (before == 0 || before == tag) {
                        atomic_add(joined + converted_8, kept_1);
                    } else {
                        atomic_add(y + kept, kept_1);
                    }
                }
                const uint place_1 = places[number];
                const uint total_2 = values[number];
                place = place_1;
                total = total_2;
            }
        }
    }
    const uint kept_2 = place;
    const uint kept_3 = total;
    if (kept_2 != 4294967295u) {
        const uint slot_2 = (kept_2 * 2654435769u) >> 21;
        const uint tag_1 = kept_2 + 1;
        const int converted_9 = (int)slot_2;
        const uint before_1 = atomic_cmpxchg(tags + converted_9, 0u, tag_1);
        if (before_1 == 0 || before_1 == tag_1) {
            atomic_add(joined + converted_9, kept_3);
        } else {
            atomic_add(y + kept_2, kept_3);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int slot_3 = lane; slot_3 < 2048; slot_3 += 256) {
        if (joined[slot_3] != 0) {
            atomic_add(y + (tags[slot_3] - 1), joined[slot_3]);
        }
    }
}
