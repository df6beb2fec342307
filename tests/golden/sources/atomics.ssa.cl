/* a maximum, and a counter advanced by compare and exchange */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void atomics(__global const int *x_buffer,
                      const ulong x_offset,
                      __global volatile int *most_buffer,
                      const ulong most_offset,
                      __global volatile int *taken_buffer,
                      const ulong taken_offset)
{
    __global const int *x = AT(x_buffer, x_offset);
    __global volatile int *most = AT(most_buffer, most_offset);
    __global volatile int *taken = AT(taken_buffer, taken_offset);
    const uint i = get_global_id(0);
    atomic_max(most, x[i]);
    int expected = 0;
    bool done = false;
    while (!done) {
        const int before = atomic_cmpxchg(taken, expected, (int)((uint)expected + 1));
        done = before == expected;
        expected = before;
    }
}
