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
    const uint converted_1 = (uint)item;
    for (uint tile = product; tile < min(sum, blocks); ++tile) {
        const uint block = tile + converted_1;
        const bool is_at_most = (block + 1) * 16 <= m;
        if (is_at_most) {
            const float16 a_i = LOAD(float16, a + block * 16);
            own[0] = a_i.s0;
            own[1] = a_i.s1;
            own[2] = a_i.s2;
            own[3] = a_i.s3;
            own[4] = a_i.s4;
            own[5] = a_i.s5;
            own[6] = a_i.s6;
            own[7] = a_i.s7;
            own[8] = a_i.s8;
            own[9] = a_i.s9;
            own[10] = a_i.sa;
            own[11] = a_i.sb;
            own[12] = a_i.sc;
            own[13] = a_i.sd;
            own[14] = a_i.se;
            own[15] = a_i.sf;
        } else {
            const uint product_2 = block * 16;
            #pragma unroll 16
            for (int step_1 = 0; step_1 < 16; ++step_1) {
                const uint r = product_2 + (uint)step_1;
                float v = 0.0f;
                if (r < m) {
                    const float a_i_1 = a[r];
                    v = a_i_1;
                }
                own[step_1] = v;
            }
        }
        #pragma unroll 16
        for (int step_2 = 1; step_2 < 16; ++step_2) {
            own[step_2] = own[step_2 - 1] + own[step_2];
        }
        const float tile_total = own[15];
        const float kept_1 = total;
        #pragma unroll 16
        for (int step_3 = 0; step_3 < 16; ++step_3) {
            own[step_3] = kept_1 + own[step_3];
        }
        if (is_at_most) {
            const float own_value_8 = own[5];
            const float own_value_9 = own[6];
            const float own_value_10 = own[7];
            const float own_value_11 = own[8];
            const float own_value_12 = own[9];
            const float own_value_13 = own[10];
            const float own_value_14 = own[11];
            const float own_value_15 = own[12];
            const float own_value_16 = own[13];
            const float own_value_17 = own[14];
            const float own_value_18 = own[15];
            const float16 joined = (float16)(own[0], own[1], own[2], own[3], own[4], own_value_8, own_value_9, own_value_10, own_value_11, own_value_12, own_value_13, own_value_14, own_value_15, own_value_16, own_value_17, own_value_18);
            STORE(float16, y + block * 16, joined);
        } else {
            const uint product_3 = block * 16;
            #pragma unroll 16
            for (int step_4 = 0; step_4 < 16; ++step_4) {
                const uint sum_4 = product_3 + (uint)step_4;
                if (sum_4 < m) {
                    y[sum_4] = own[step_4];
                }
            }
        }
        const float total_1 = total + tile_total;
        total = total_1;
    }
}
