/* bool vectors: made by comparisons, stored as bytes, converted to numbers */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void masks(__global const float *x_buffer,
                    const ulong x_offset,
                    __global const float *y_buffer,
                    const ulong y_offset,
                    __global float *z_buffer,
                    const ulong z_offset,
                    __global uchar *m_buffer,
                    const ulong m_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global const float *y = AT(y_buffer, y_offset);
    __global float *z = AT(z_buffer, z_offset);
    __global uchar *m = AT(m_buffer, m_offset);
    const uint i = get_global_id(0);
    const uint product = i * 8;
    const float8 p = vload8(0, x + product);
    const float8 q = vload8(0, y + product);
    const char8 less = convert_char8(p < q);
    const char8 both = less & ~(convert_char8(p > 0.0f));
    vstore8(as_uchar8(-both), 0, m + product);
    vstore8(select(q * 2.0f, p, convert_int8(both)) + convert_float8(-less), 0, z + product);
}
