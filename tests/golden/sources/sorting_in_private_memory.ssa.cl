/* an array of one work-item, sorted by insertion */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void sorting_in_private_memory(__global const float *x_buffer,
                                        const ulong x_offset,
                                        __global float *y_buffer,
                                        const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 4;
    float mine[4];
    for (uint j = 0; j < 4; ++j) {
        mine[j] = x[base + j];
    }
    for (uint j_1 = 1; j_1 < 4; ++j_1) {
        const float value = mine[j_1];
        uint hole = j_1;
        while (hole > 0) {
            const float left = mine[hole - 1];
            if (left <= value) {
                break;
            }
            mine[hole] = left;
            hole = hole - 1;
        }
        mine[hole] = value;
    }
    for (uint j_2 = 0; j_2 < 4; ++j_2) {
        y[base + j_2] = mine[j_2];
    }
}
