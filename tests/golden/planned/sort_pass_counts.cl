/* f32, 256 work-items a tile of 4096 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void count_digits(const uint m,
                  const uint s,
                  const uint shift,
                  __global const float *restrict a_buffer,
                  const ulong a_offset,
                  __global uint *restrict counts_buffer,
                  const ulong counts_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global uint *counts = AT(counts_buffer, counts_offset);
    __local uint counts_1[256];
    const int lane = get_local_id(0);
    const int group = get_group_id(0);
    const uint converted = (uint)group;
    uint quotient;
    quotient = s != 0 ? converted / s : 0;
    uint tile;
    tile = s != 0 ? converted % s : 0;
    const uint first = tile * 4096 + (uint)lane;
    uint own[16];
    #pragma unroll 16
    for (int step_1 = 0; step_1 < 16; ++step_1) {
        const uint r = first + (uint)(step_1 * 256);
        uint v = 0u;
        if (r < m) {
            const float a_i = a[r];
            v = as_uint(a_i);
        }
        own[step_1] = v;
    }
    for (int digit = lane; digit < 256; digit += 256) {
        counts_1[digit] = 0u;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 16
    for (int step_2 = 0; step_2 < 16; ++step_2) {
        if (first + (uint)(step_2 * 256) < m) {
            const uint own_value = own[step_2];
            const uint and_value = own_value & 2147483647;
            const uint shr_value = shift < 32 ? (and_value > 2139095040 ? 4294967295u : (and_value == 0 ? 2147483648u : own_value ^ (-(own_value >> 31) | (uint)1 << 31))) >> shift : 0;
            atomic_add(counts_1 + (int)(shr_value & 255), 1u);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint product_3 = quotient * 256;
    for (int digit_1 = lane; digit_1 < 256; digit_1 += 256) {
        counts[(product_3 + (uint)digit_1) * s + tile] = counts_1[digit_1];
    }
}
