/* lanes that lie apart in memory */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void gather_and_scatter(__global const float *x_buffer,
                                 const ulong x_offset,
                                 __global const uint *index_buffer,
                                 const ulong index_offset,
                                 __global float *y_buffer,
                                 const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global const uint *index = AT(index_buffer, index_offset);
    __global float *y = AT(y_buffer, y_offset);
    uint u32_0;
    float4 f32x4_1;
    u32_0 = get_global_id(0);
    u32_0 = u32_0 * 4;
    const uint4 index_value = vload4(0, index + u32_0);
    f32x4_1 = convert_float4(u32_0 + (uint4)(0, 1, 2, 3));
    f32x4_1 = (float4)(x[index_value.s0], x[index_value.s1], x[index_value.s2], x[index_value.s3]) * f32x4_1;
    u32_0 = 63 - u32_0;
    y[u32_0] = f32x4_1.s0;
    y[u32_0 - 1] = f32x4_1.s1;
    y[u32_0 - 2] = f32x4_1.s2;
    y[u32_0 - 3] = f32x4_1.s3;
}
