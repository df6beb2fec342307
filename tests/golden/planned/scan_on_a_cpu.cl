/* y = cumulative_sum(x); x = a    in f32, 1 work-items a row, tiles of 16 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void cumulative_sum(const uint m,
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
    const int group = get_group_id(1);
    const int item = get_local_id(0);
    float own[16];
    const uint product = (uint)group * per;
    const uint sum = product + per;
    float total = 0.0f;
    for (uint tile = product; tile < min(sum, blocks); ++tile) {
        #pragma unroll 1
        for (int stripe = 0; stripe < 1; ++stripe) {
            const uint block = tile + (uint)(stripe + item);
            if ((block + 1) * 16 <= m) {
                const float16 a_i = LOAD(float16, a + block * 16);
                const int product_2 = stripe * 16;
                own[product_2] = a_i.s0;
                own[product_2 + 1] = a_i.s1;
                own[product_2 + 2] = a_i.s2;
                own[product_2 + 3] = a_i.s3;
                own[product_2 + 4] = a_i.s4;
                own[product_2 + 5] = a_i.s5;
                own[product_2 + 6] = a_i.s6;
                own[product_2 + 7] = a_i.s7;
                own[product_2 + 8] = a_i.s8;
                own[product_2 + 9] = a_i.s9;
                own[product_2 + 10] = a_i.sa;
                own[product_2 + 11] = a_i.sb;
                own[product_2 + 12] = a_i.sc;
                own[product_2 + 13] = a_i.sd;
                own[product_2 + 14] = a_i.se;
                own[product_2 + 15] = a_i.sf;
            } else {
                const uint product_3 = block * 16;
                const int product_4 = stripe * 16;
                #pragma unroll 16
                for (int step_1 = 0; step_1 < 16; ++step_1) {
                    const uint r = product_3 + (uint)step_1;
                    float v = 0.0f;
                    if (r < m) {
                        const float a_i_1 = a[r];
                        v = a_i_1;
                    }
                    own[product_4 + step_1] = v;
                }
            }
        }
        #pragma unroll 1
        for (int stripe_1 = 0; stripe_1 < 1; ++stripe_1) {
            const int product_5 = stripe_1 * 16;
            #pragma unroll 16
            for (int step_2 = product_5 + 1; step_2 < product_5 + 16; ++step_2) {
                own[step_2] = own[step_2 - 1] + own[step_2];
            }
        }
        const float tile_total = own[15];
        const float kept_1 = total;
        #pragma unroll 1
        for (int stripe_2 = 0; stripe_2 < 1; ++stripe_2) {
            const uint block_1 = tile + (uint)(stripe_2 + item);
            const int product_6 = stripe_2 * 16;
            #pragma unroll 16
            for (int step_3 = product_6; step_3 < product_6 + 16; ++step_3) {
                own[step_3] = kept_1 + own[step_3];
            }
            if ((block_1 + 1) * 16 <= m) {
                const float own_value_6 = own[product_6 + 3];
                const float own_value_7 = own[product_6 + 4];
                const float own_value_8 = own[product_6 + 5];
                const float own_value_9 = own[product_6 + 6];
                const float own_value_10 = own[product_6 + 7];
                const float own_value_11 = own[product_6 + 8];
                const float own_value_12 = own[product_6 + 9];
                const float own_value_13 = own[product_6 + 10];
                const float own_value_14 = own[product_6 + 11];
                const float own_value_15 = own[product_6 + 12];
                const float own_value_16 = own[product_6 + 13];
                const float own_value_17 = own[product_6 + 14];
                const float own_value_18 = own[product_6 + 15];
                const float16 joined = (float16)(own[product_6], own[product_6 + 1], own[product_6 + 2], own_value_6, own_value_7, own_value_8, own_value_9, own_value_10, own_value_11, own_value_12, own_value_13, own_value_14, own_value_15, own_value_16, own_value_17, own_value_18);
                STORE(float16, y + block_1 * 16, joined);
            } else {
                const uint product_8 = block_1 * 16;
                #pragma unroll 16
                for (int step_4 = 0; step_4 < 16; ++step_4) {
                    const uint sum_41 = product_8 + (uint)step_4;
                    if (sum_41 < m) {
                        y[sum_41] = own[product_6 + step_4];
                    }
                }
            }
        }
        const float total_1 = total + tile_total;
        total = total_1;
    }
}
