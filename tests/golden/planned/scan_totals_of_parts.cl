/* y = totals(x); x = a    in f32, 256 work-items a row, tiles of 4096 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void totals(const uint m,
            const uint blocks,
            const uint per,
            const uint s,
            __global const float *restrict a_buffer,
            const ulong a_offset,
            __global float *restrict y_buffer,
            const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    __local float totals_1[1024];
    __local float shared[256];
    const uint row = get_group_id(0);
    const int group = get_group_id(1);
    const int item = get_local_id(0);
    const uint converted = (uint)group;
    const uint number = row * s + converted;
    float own[16];
    const uint product_1 = converted * per;
    const uint sum = product_1 + per;
    float total = 0.0f;
    const int product_2 = item * 4;
    const int sum_1 = item + 1;
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
                    float v = 0.0f;
                    if (r < m) {
                        const float a_i_1 = a[r];
                        v = a_i_1;
                    }
                    own[product_7 + step_1] = v;
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
        #pragma unroll 4
        for (int stripe_2 = 0; stripe_2 < 4; ++stripe_2) {
            totals_1[stripe_2 * 256 + item] = own[stripe_2 * 4 + 4 - 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float taken[4];
        taken[0] = totals_1[product_2];
        #pragma unroll 4
        for (int number_1 = 1; number_1 < 4; ++number_1) {
            taken[number_1] = taken[number_1 - 1] + totals_1[product_2 + number_1];
        }
        shared[item] = taken[3];
        barrier(CLK_LOCAL_MEM_FENCE);
        int distance_1 = 1;
        #pragma unroll 8
        for (int _ = 0; _ < 8; ++_) {
            if ((sum_1 & (2 * distance_1 - 1)) == 0) {
                shared[item] = shared[item - distance_1] + shared[item];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const int distance_2 = distance_1 * 2;
            distance_1 = distance_2;
        }
        const float return_1 = shared[255];
        const float total_1 = total + return_1;
        total = total_1;
    }
    if (item == 0) {
        y[number] = total;
    }
}
