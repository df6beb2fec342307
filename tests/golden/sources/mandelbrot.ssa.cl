/* the number of rounds until |z| passes 2 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void mandelbrot(const uint w,
                         const uint h,
                         const uint most,
                         __global ushort *y_buffer,
                         const ulong y_offset)
{
    __global ushort *y = AT(y_buffer, y_offset);
    const uint px = get_global_id(0);
    const uint py = get_global_id(1);
    const float re0 = (float)px / (float)w * 3.0f - 2.0f;
    const float im0 = (float)py / (float)h * 2.0f - 1.0f;
    float re = 0.0f;
    float im = 0.0f;
    uint rounds = 0u;
    while (rounds < most && re * re + im * im <= 4.0f) {
        const float squared = re * re - im * im + re0;
        im = re * im * 2.0f + im0;
        re = squared;
        rounds = rounds + 1;
    }
    y[py * w + px] = (ushort)rounds;
}
