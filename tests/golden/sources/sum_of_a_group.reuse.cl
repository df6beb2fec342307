/* a tree in local memory */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void sum_of_a_group(const uint n,
                    __global const float *x_buffer,
                    const ulong x_offset,
                    __global float *y_buffer,
                    const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    uint u32_0;
    u32_0 = get_global_id(0);
    const uint item = get_local_id(0);
    const uint group = get_group_id(0);
    __local float parts[16];
    float mine = 0.0f;
    if (u32_0 < n) {
        mine = x[u32_0];
    }
    parts[item] = mine;
    u32_0 = 8u;
    while (u32_0 > 0) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < u32_0) {
            parts[item] = parts[item] + parts[item + u32_0];
        }
        u32_0 = u32_0 >> 1;
    }
    if (item == 0) {
        y[group] = parts[0];
    }
}
