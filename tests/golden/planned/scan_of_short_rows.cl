/* y = cumulative_sum(x); x = a    in f32, 16 work-items a row, tiles of 64 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void cumulative_sum(const uint n0,
                    const uint m,
                    const uint blocks,
                    const uint per,
                    const uint s,
                    __global const float *restrict a_buffer,
                    const ulong a_offset,
                    const uint a_stride0,
                    __global float *restrict y_buffer,
                    const ulong y_offset,
                    const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    float f32_0;
    __local float totals[256];
    __local float shared[512];
    const uint i = get_global_id(0);
    const uint row = i / 16;
    const uint length_1 = row < n0 ? m : 0;
    const int group = get_group_id(1);
    const int item = get_local_id(0);
    float own[4];
    const uint product = (uint)group * per;
    const uint sum = product + per;
    float total = 0.0f;
    const int lane = item % 16;
    const uint converted_1 = (uint)lane;
    const int start = item / 16 * 16;
    const int sum_1 = start + lane;
    const bool differs = lane != 0;
    const int last = start + 15;
    for (uint tile = product; tile < min(sum, blocks); tile += 16) {
        const uint block = tile + converted_1;
        const bool is_at_most = (block + 1) * 4 <= length_1;
        if (is_at_most) {
            const float4 a_i = vload4(0, a + (row * a_stride0 + block * 4));
            own[0] = a_i.s0;
            own[1] = a_i.s1;
            own[2] = a_i.s2;
            own[3] = a_i.s3;
        } else {
            const uint product_2 = block * 4;
            #pragma unroll 4
            for (int step_1 = 0; step_1 < 4; ++step_1) {
                const uint r = product_2 + (uint)step_1;
                f32_0 = 0.0f;
                if (r < length_1) {
                    const float a_i_1 = a[row * a_stride0 + r];
                    f32_0 = a_i_1;
                }
                own[step_1] = f32_0;
            }
        }
        #pragma unroll 4
        for (int step_2 = 1; step_2 < 4; ++step_2) {
            own[step_2] = own[step_2 - 1] + own[step_2];
        }
        const float kept_1 = total;
        totals[sum_1] = own[3];
        barrier(CLK_LOCAL_MEM_FENCE);
        float taken[1];
        taken[0] = totals[item];
        const float scanned = taken[0];
        shared[item] = scanned;
        barrier(CLK_LOCAL_MEM_FENCE);
        f32_0 = scanned;
        int distance_1 = 1;
        #pragma unroll 4
        for (int turn = 0; turn < 4; ++turn) {
            if (lane >= distance_1) {
                const float scanned_2 = shared[(turn & 1) * 256 + (item - distance_1)] + f32_0;
                f32_0 = scanned_2;
            }
            shared[((turn + 1) & 1) * 256 + item] = f32_0;
            barrier(CLK_LOCAL_MEM_FENCE);
            const int distance_2 = distance_1 * 2;
            distance_1 = distance_2;
        }
        f32_0 = kept_1;
        if (differs) {
            f32_0 = kept_1 + shared[item - 1];
        }
        const float before = f32_0;
        const float tile_total = shared[last];
        totals[item] = before;
        barrier(CLK_LOCAL_MEM_FENCE);
        const float first = totals[sum_1];
        #pragma unroll 4
        for (int step_3 = 0; step_3 < 4; ++step_3) {
            own[step_3] = first + own[step_3];
        }
        if (is_at_most) {
            const float4 joined = (float4)(own[0], own[1], own[2], own[3]);
            vstore4(joined, 0, y + (row * y_stride0 + block * 4));
        } else {
            const uint product_5 = block * 4;
            #pragma unroll 4
            for (int step_4 = 0; step_4 < 4; ++step_4) {
                const uint sum_9 = product_5 + (uint)step_4;
                if (sum_9 < length_1) {
                    y[row * y_stride0 + sum_9] = own[step_4];
                }
            }
        }
        const float total_1 = total + tile_total;
        total = total_1;
    }
}
