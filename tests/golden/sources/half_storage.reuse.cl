/* float16 in memory, float32 in registers: needs no extension */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void half_storage(__global const half *h_buffer,
                           const ulong h_offset,
                           __global half *y_buffer,
                           const ulong y_offset)
{
    __global const half *h = AT(h_buffer, h_offset);
    __global half *y = AT(y_buffer, y_offset);
    uint u32_0;
    u32_0 = get_global_id(0);
    u32_0 = u32_0 * 2;
    vstore_half2_rte(vload_half2(0, h + u32_0) * 1.5f + 0.1f, 0, y + u32_0);
}
