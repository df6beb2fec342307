/* y = cumulative_sum(x); x = a    in f32, 256 work-items a row, tiles of 4096 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void cumulative_sum(const uint m,
                    const uint blocks,
                    const uint per,
                    const uint s,
                    __global const float *restrict a_buffer,
                    const ulong a_offset,
                    __global const float *restrict i_buffer,
                    const ulong i_offset,
                    __global float *restrict y_buffer,
                    const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *i = AT(i_buffer, i_offset);
    __global float *y = AT(y_buffer, y_offset);
    float f32_0;
    float f32_1;
    __local float totals[1024];
    __local float shared[512];
    const uint row = get_group_id(0);
    const int group = get_group_id(1);
    const int item = get_local_id(0);
    const uint converted = (uint)group;
    const uint number = row * s + converted;
    f32_0 = 0.0f;
    if (group != 0) {
        const float total_1 = i[number - 1];
        f32_0 = total_1;
    }
    const float return_1 = f32_0;
    float own[16];
    const uint product_1 = converted * per;
    const uint sum = product_1 + per;
    f32_0 = return_1;
    const int product_2 = item * 4;
    const bool differs_1 = item != 0;
    for (uint tile = product_1; tile < min(sum, blocks); tile += 1024) {
        #pragma unroll 4
        for (int stripe = 0; stripe < 4; ++stripe) {
            const uint block = tile + (uint)(stripe * 256 + item);
            if ((block + 1) * 4 <= m) {
                const float4 a_i = LOAD(float4, a + block * 4);
                const int product_5 = stripe * 4;
                own[product_5] = a_i.s0;
                own[product_5 + 1] = a_i.s1;
                own[product_5 + 2] = a_i.s2;
                own[product_5 + 3] = a_i.s3;
            } else {
                const uint product_6 = block * 4;
                const int product_7 = stripe * 4;
                #pragma unroll 4
                for (int step_1 = 0; step_1 < 4; ++step_1) {
                    const uint r = product_6 + (uint)step_1;
                    f32_1 = 0.0f;
                    if (r < m) {
                        const float a_i_1 = a[r];
                        f32_1 = a_i_1;
                    }
                    own[product_7 + step_1] = f32_1;
                }
            }
        }
        #pragma unroll 4
        for (int stripe_1 = 0; stripe_1 < 4; ++stripe_1) {
            const int product_8 = stripe_1 * 4;
            #pragma unroll 4
            for (int step_2 = product_8 + 1; step_2 < product_8 + 4; ++step_2) {
                own[step_2] = own[step_2 - 1] + own[step_2];
            }
        }
        const float kept_1 = f32_0;
        #pragma unroll 4
        for (int stripe_2 = 0; stripe_2 < 4; ++stripe_2) {
            totals[stripe_2 * 256 + item] = own[stripe_2 * 4 + 4 - 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float taken[4];
        taken[0] = totals[product_2];
        #pragma unroll 4
        for (int number_1 = 1; number_1 < 4; ++number_1) {
            taken[number_1] = taken[number_1 - 1] + totals[product_2 + number_1];
        }
        const float scanned = taken[3];
        shared[item] = scanned;
        barrier(CLK_LOCAL_MEM_FENCE);
        f32_1 = scanned;
        int distance_1 = 1;
        #pragma unroll 8
        for (int turn = 0; turn < 8; ++turn) {
            if (item >= distance_1) {
                const float scanned_2 = shared[(turn & 1) * 256 + (item - distance_1)] + f32_1;
                f32_1 = scanned_2;
            }
            shared[((turn + 1) & 1) * 256 + item] = f32_1;
            barrier(CLK_LOCAL_MEM_FENCE);
            const int distance_2 = distance_1 * 2;
            distance_1 = distance_2;
        }
        f32_1 = kept_1;
        if (differs_1) {
            f32_1 = kept_1 + shared[item - 1];
        }
        const float before = f32_1;
        const float tile_total = shared[255];
        totals[product_2] = before;
        #pragma unroll 4
        for (int number_2 = 1; number_2 < 4; ++number_2) {
            totals[product_2 + number_2] = before + taken[number_2 - 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll 4
        for (int stripe_3 = 0; stripe_3 < 4; ++stripe_3) {
            const int sum_20 = stripe_3 * 256 + item;
            const uint block_1 = tile + (uint)sum_20;
            const float first = totals[sum_20];
            const int product_14 = stripe_3 * 4;
            #pragma unroll 4
            for (int step_3 = product_14; step_3 < product_14 + 4; ++step_3) {
                own[step_3] = first + own[step_3];
            }
            if ((block_1 + 1) * 4 <= m) {
                const float own_value_7 = own[product_14 + 3];
                const float4 joined = (float4)(own[product_14], own[product_14 + 1], own[product_14 + 2], own_value_7);
                STORE(float4, y + block_1 * 4, joined);
            } else {
                const uint product_16 = block_1 * 4;
                #pragma unroll 4
                for (int step_4 = 0; step_4 < 4; ++step_4) {
                    const uint sum_27 = product_16 + (uint)step_4;
                    if (sum_27 < m) {
                        y[sum_27] = own[product_14 + step_4];
                    }
                }
            }
        }
        const float total_3 = f32_0 + tile_total;
        f32_0 = total_3;
    }
}
