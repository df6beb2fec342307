/* an unrolled loop over the columns, downward */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void matrix_times_vector(const uint rows,
                                  const uint columns,
                                  __global const float *restrict x_buffer,
                                  const ulong x_offset,
                                  __global const float *restrict v_buffer,
                                  const ulong v_offset,
                                  __global float *restrict y_buffer,
                                  const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global const float *v = AT(v_buffer, v_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint row = get_global_id(0);
    if (row < rows) {
        float total = 0.0f;
        const uint product = row * columns;
        #pragma unroll 2
        for (int column = (int)((uint)(int)columns - 1); column > -1; --column) {
            const uint converted_1 = (uint)column;
            total = total + x[product + converted_1] * v[converted_1];
        }
        y[row] = total;
    }
}
