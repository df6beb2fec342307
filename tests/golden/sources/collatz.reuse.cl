/* a loop that ends where the data says */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void collatz(__global const uint *x_buffer,
                      const ulong x_offset,
                      __global uint *y_buffer,
                      const ulong y_offset)
{
    __global const uint *x = AT(x_buffer, x_offset);
    __global uint *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    uint value = x[i];
    uint steps = 0u;
    while (value != 1) {
        if ((value & 1) == 0) {
            value = value >> 1;
        } else {
            value = value * 3 + 1;
        }
        steps = steps + 1;
    }
    y[i] = steps;
}
