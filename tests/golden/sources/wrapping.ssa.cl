/* signed overflow wraps; C leaves it undefined */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void wrapping(const uint n,
                       __global const int *x_buffer,
                       const ulong x_offset,
                       __global int *y_buffer,
                       const ulong y_offset,
                       __global uchar *m_buffer,
                       const ulong m_offset)
{
    __global const int *x = AT(x_buffer, x_offset);
    __global int *y = AT(y_buffer, y_offset);
    __global uchar *m = AT(m_buffer, m_offset);
    const uint i = get_global_id(0);
    if (i >= n) {
        return;
    }
    const int p = x[i];
    y[i] = (int)abs((int)(-((uint)p * 3 - 7)));
    m[i] = (int)((uint)p + 1) > p;
}
