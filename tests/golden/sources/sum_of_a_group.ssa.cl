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
    const uint i = get_global_id(0);
    const uint item = get_local_id(0);
    const uint group = get_group_id(0);
    __local float parts[16];
    float mine = 0.0f;
    if (i < n) {
        mine = x[i];
    }
    parts[item] = mine;
    uint half_ = 8u;
    while (half_ > 0) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_) {
            parts[item] = parts[item] + parts[item + half_];
        }
        half_ = half_ >> 1;
    }
    if (item == 0) {
        y[group] = parts[0];
    }
}
