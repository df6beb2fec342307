/* numbers of several types, and a text that C would read in another way */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void printing(__global const float *x_buffer,
                       const ulong x_offset,
                       __global long *y_buffer,
                       const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global long *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    printf("100%% of \"{%u}\" is %g \\n\?\?/ %d\t*/ \303\251\n", i, x[i], x[i] > 0.0f);
    if (i >= 1) {
        y[i] = (long)i - 2;
        printf("%ld %lu%u\n", y[i], (ulong)i << 60, (uchar)i);
        printf("\n");
    } else {
        y[i] = -2L;
    }
}
