/* ids and sizes that may be subtracted */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void signed_indices(const int rows,
                    const int columns,
                    __global const float *restrict x_buffer,
                    const ulong x_offset,
                    __global float *restrict y_buffer,
                    const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    int i32_0;
    const int i = get_global_id(0);
    const int item = get_local_id(0);
    const int row = i / columns;
    i32_0 = i % columns;
    if (row < rows) {
        i32_0 = i32_0 - 1;
        const float chosen = i32_0 < 0 ? 0.0f : x[(int)((uint)max(i32_0, 0) + (uint)row * (uint)columns)];
        y[i] = chosen + (float)((item * 4 + 3) / 7);
    }
}
