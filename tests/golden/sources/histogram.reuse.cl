/* counted in local memory first, then added to the total */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void histogram(const uint n,
               __global const uchar *x_buffer,
               const ulong x_offset,
               __global volatile uint *counts_buffer,
               const ulong counts_offset)
{
    __global const uchar *x = AT(x_buffer, x_offset);
    __global volatile uint *counts = AT(counts_buffer, counts_offset);
    const uint i = get_global_id(0);
    const uint item = get_local_id(0);
    __local uint mine[8];
    const bool is_less = item < 8;
    if (is_less) {
        mine[item] = 0u;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint items = get_global_size(0);
    for (uint at = i; at < n; at += items) {
        atomic_add(mine + (uint)x[at], 1u);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        atomic_add(counts + item, mine[item]);
    }
}
