/* minimum and maximum pass NaN on, as NumPy's do */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void nan_aware(__global const float *x_buffer,
                        const ulong x_offset,
                        __global const float *y_buffer,
                        const ulong y_offset,
                        __global float *low_buffer,
                        const ulong low_offset,
                        __global float *high_buffer,
                        const ulong high_offset,
                        __global float *s_buffer,
                        const ulong s_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global const float *y = AT(y_buffer, y_offset);
    __global float *low = AT(low_buffer, low_offset);
    __global float *high = AT(high_buffer, high_offset);
    __global float *s = AT(s_buffer, s_offset);
    const uint i = get_global_id(0);
    const float p = x[i];
    const float q = y[i];
    low[i] = p < q || isnan(p) ? p : q;
    high[i] = p > q || isnan(p) ? p : q;
    s[i] = isnan(p) ? p : (float)((p > 0) - (p < 0));
}
