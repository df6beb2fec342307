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
    const uint i = get_global_id(0);
    const uint product = i * 4;
    const uint4 index_value = vload4(0, index + product);
    const float4 converted = convert_float4(product + (uint4)(0, 1, 2, 3));
    const float4 product_1 = (float4)(x[index_value.s0], x[index_value.s1], x[index_value.s2], x[index_value.s3]) * converted;
    const uint difference = 63 - product;
    y[difference] = product_1.s0;
    y[difference - 1] = product_1.s1;
    y[difference - 2] = product_1.s2;
    y[difference - 3] = product_1.s3;
}
