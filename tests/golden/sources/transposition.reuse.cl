/* through a tile in local memory */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void transposition(const uint rows,
                   const uint columns,
                   __global const float *restrict x_buffer,
                   const ulong x_offset,
                   __global float *restrict y_buffer,
                   const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    uint u32_0;
    uint u32_1;
    const uint lx = get_local_id(0);
    const uint ly = get_local_id(1);
    __local float tile[72];
    u32_0 = get_group_id(0);
    u32_0 = u32_0 * 8;
    u32_1 = get_group_id(1);
    u32_1 = u32_1 * 8;
    const uint sum_1 = u32_1 + ly;
    if (u32_0 + lx < columns && sum_1 < rows) {
        tile[ly * 9 + lx] = x[sum_1 * columns + u32_0 + lx];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    u32_0 = u32_0 + ly;
    if (u32_1 + lx < rows && u32_0 < columns) {
        y[u32_0 * rows + u32_1 + lx] = tile[lx * 9 + ly];
    }
}
