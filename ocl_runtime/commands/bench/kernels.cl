/* OpenCL C by hand: what measures the ceilings, and what cases are compared with.

   Kernels that end in _stretch are for CPUs: each work-item has a stretch of its own. */

#pragma OPENCL FP_CONTRACT ON

/* ---- ceilings: n vectors from the one called start on ---- */

__kernel void copy(__global const float4 *x, __global float4 *y, const ulong start, const ulong n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[start + i] = x[start + i];
}

/* What a device is busy with before a measurement: n vectors are copied to where the next n are. */
__kernel void fill(__global float4 *x, const ulong n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        x[n + i] = x[i];
}

__kernel void copy_stretch(__global const float16 *x, __global float16 *y, const ulong start, const ulong n)
{
    const size_t length = (n + get_global_size(0) - 1) / get_global_size(0);
    const size_t first = start + get_global_id(0) * length;
    const size_t end = min(first + length, (size_t)(start + n));
    for (size_t i = first; i < end; ++i)
        y[i] = x[i];
}

__kernel void read(__global const float4 *x, __global float4 *y, const ulong start, const ulong n)
{
    x += start;
    const size_t step = get_global_size(0);
    size_t i = get_global_id(0);
    float4 a = 0, b = 0, c = 0, d = 0;
    for (; i + 3 * step < n; i += 4 * step) {
        a += x[i];
        b += x[i + step];
        c += x[i + 2 * step];
        d += x[i + 3 * step];
    }
    for (; i < n; i += step)
        a += x[i];
    y[get_global_id(0)] = (a + b) + (c + d);
}

__kernel void read_stretch(__global const float16 *x, __global float16 *y, const ulong start, const ulong n)
{
    x += start;
    const size_t length = (n + get_global_size(0) - 1) / get_global_size(0);
    size_t i = get_global_id(0) * length;
    const size_t end = min(i + length, (size_t)n);
    float16 a = 0, b = 0, c = 0, d = 0;
    for (; i + 3 < end; i += 4) {
        a += x[i];
        b += x[i + 1];
        c += x[i + 2];
        d += x[i + 3];
    }
    for (; i < end; ++i)
        a += x[i];
    y[get_global_id(0)] = (a + b) + (c + d);
}

/* Eight chains of multiplications and additions, which need nothing from memory. */
__kernel void multiply_add(__global WIDE *y, const REAL by, const REAL more, const uint turns)
{
    const WIDE m = by, p = more;
    WIDE a = (REAL)get_global_id(0), b = a + (REAL)1, c = a + (REAL)2, d = a + (REAL)3;
    WIDE e = a + (REAL)4, f = a + (REAL)5, g = a + (REAL)6, h = a + (REAL)7;
    for (uint turn = 0; turn < turns; ++turn) {
        a = mad(a, m, p);
        b = mad(b, m, p);
        c = mad(c, m, p);
        d = mad(d, m, p);
        e = mad(e, m, p);
        f = mad(f, m, p);
        g = mad(g, m, p);
        h = mad(h, m, p);
    }
    y[get_global_id(0)] = ((a + b) + (c + d)) + ((e + f) + (g + h));
}

/* ---- elementwise ---- */

__kernel void negative(__global const float4 *x, __global float4 *y, const ulong n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = -x[i];
}

__kernel void product_and_sum(__global const float4 *a, __global const float4 *b, __global const float4 *c,
                              __global float4 *y, const ulong n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = a[i] * b[i] + c[i];
}

__kernel void product_and_sine(__global const float4 *a, __global const float4 *b, __global const float4 *c,
                               __global float4 *y, const ulong n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = a[i] * b[i] + sin(c[i]);
}

/* ---- sums of rows: a group of 256 a row; on a CPU a work-item ---- */

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void row_sums(__global const float4 *x, __global float *y, const ulong width)
{
    __local float partial[256];
    const size_t row = get_group_id(0), lane = get_local_id(0);
    float4 a = 0, b = 0, c = 0, d = 0;
    size_t i = lane;
    for (; i + 768 < width; i += 1024) {
        a += x[row * width + i];
        b += x[row * width + i + 256];
        c += x[row * width + i + 512];
        d += x[row * width + i + 768];
    }
    for (; i < width; i += 256)
        a += x[row * width + i];
    const float4 sum = (a + b) + (c + d);
    partial[lane] = (sum.x + sum.y) + (sum.z + sum.w);
    for (size_t half_of_them = 128; half_of_them > 0; half_of_them /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_of_them)
            partial[lane] += partial[lane + half_of_them];
    }
    if (lane == 0)
        y[row] = partial[0];
}

__kernel void row_sums_stretch(__global const float16 *x, __global float *y, const ulong width)
{
    const size_t row = get_global_id(0);
    float16 a = 0, b = 0;
    for (size_t i = 0; i + 1 < width; i += 2) {
        a += x[row * width + i];
        b += x[row * width + i + 1];
    }
    const float16 wide = a + b;
    const float8 eight = wide.lo + wide.hi;
    const float4 four = eight.lo + eight.hi;
    y[row] = (four.x + four.y) + (four.z + four.w);
}

/* ---- transposes: 64 x 64 a group through a swizzled local tile, 4 x 4 a work-item; on a CPU 16 x 16 ---- */

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void transpose(__global const float4 *x, __global float4 *y, const ulong rows, const ulong columns)
{
    __local float4 tile[64 * 16];
    const size_t tiles_down = rows / 64;
    const size_t row = get_group_id(0) % tiles_down * 64, column = get_group_id(0) / tiles_down * 64;
    const uint right = get_local_id(0) % 16, down = get_local_id(0) / 16;
    __global const float4 *from = x + ((row + down * 4) * columns + column) / 4 + right;
    const float4 a = from[0], b = from[columns / 4], c = from[columns / 2], d = from[columns / 4 * 3];
    __local float4 *to = tile + right * 64 + (down ^ right);
    to[0] = (float4)(a.x, b.x, c.x, d.x);
    to[16] = (float4)(a.y, b.y, c.y, d.y);
    to[32] = (float4)(a.z, b.z, c.z, d.z);
    to[48] = (float4)(a.w, b.w, c.w, d.w);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint line = 0; line < 4; ++line)
        y[((column + down * 4 + line) * rows + row) / 4 + right] = tile[down * 64 + line * 16 + (right ^ down)];
}

__kernel void transpose_stretch(__global const float *x, __global float *y, const ulong rows, const ulong columns)
{
    const size_t row = get_global_id(0) * 16, column = get_global_id(1) * 16;
    for (size_t right = 0; right < 16; ++right)
        for (size_t down = 0; down < 16; ++down)
            y[(column + right) * rows + row + down] = x[(row + down) * columns + column + right];
}

/* ---- running sums: sums of tiles of 4096, their running sums, running sums of tiles; on a CPU of stretches ---- */

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tile_sums(__global const float4 *x, __global float *sums)
{
    __local float partial[256];
    const size_t lane = get_local_id(0);
    __global const float4 *tile = x + get_group_id(0) * 1024 + lane;
    const float4 sum = (tile[0] + tile[256]) + (tile[512] + tile[768]);
    partial[lane] = (sum.x + sum.y) + (sum.z + sum.w);
    for (size_t half_of_them = 128; half_of_them > 0; half_of_them /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_of_them)
            partial[lane] += partial[lane + half_of_them];
    }
    if (lane == 0)
        sums[get_group_id(0)] = partial[0];
}

/* The running sum of what each of 256 work-items gives, without its own. */
float sum_before(__local float *partial, const size_t lane, const float own)
{
    partial[lane] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = 1; step < 256; step *= 2) {
        const float left = lane < step ? 0.0f : partial[lane - step];
        barrier(CLK_LOCAL_MEM_FENCE);
        partial[lane] += left;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return lane == 0 ? 0.0f : partial[lane - 1];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sums_of_sums(__global float *sums, const ulong n)
{
    __local float partial[256];
    const size_t lane = get_local_id(0), length = (n + 255) / 256;
    const size_t start = lane * length, end = min(start + length, (size_t)n);
    float own = 0;
    for (size_t i = start; i < end; ++i)
        own += sums[i];
    float before = sum_before(partial, lane, own);
    for (size_t i = start; i < end; ++i) {
        const float next = before + sums[i];
        sums[i] = before;
        before = next;
    }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void running_sum(__global const float4 *x, __global float4 *y, __global const float *sums)
{
    __local float partial[256];
    const size_t lane = get_local_id(0), start = get_group_id(0) * 1024 + lane * 4;
    float4 part[4];
    float own = 0;
    for (uint i = 0; i < 4; ++i) {
        part[i] = x[start + i];
        part[i].y += part[i].x;
        part[i].z += part[i].y;
        part[i].w += part[i].z;
        part[i] += own;
        own = part[i].w;
    }
    const float before = sums[get_group_id(0)] + sum_before(partial, lane, own);
    for (uint i = 0; i < 4; ++i)
        y[start + i] = part[i] + before;
}

__kernel void stretch_sums(__global const float16 *x, __global float *sums, const ulong length)
{
    float16 sum = 0;
    for (size_t i = 0; i < length; ++i)
        sum += x[get_global_id(0) * length + i];
    const float8 eight = sum.lo + sum.hi;
    const float4 four = eight.lo + eight.hi;
    sums[get_global_id(0)] = (four.x + four.y) + (four.z + four.w);
}

__kernel void running_sum_stretch(__global const float *x, __global float *y, __global const float *sums,
                                  const ulong length)
{
    float sum = 0;
    for (size_t i = 0; i < get_global_id(0); ++i)
        sum += sums[i];
    for (size_t i = get_global_id(0) * length; i < (get_global_id(0) + 1) * length; ++i)
        y[i] = sum += x[i];
}

/* ---- counts of 256 keys, first in local memory ---- */

__kernel void counts(__global const uint4 *keys, volatile __global uint *y, const ulong n)
{
    volatile __local uint mine[256];
    for (size_t i = get_local_id(0); i < 256; i += get_local_size(0))
        mine[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uint4 key = keys[i];
        atomic_inc(mine + key.x);
        atomic_inc(mine + key.y);
        atomic_inc(mine + key.z);
        atomic_inc(mine + key.w);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t i = get_local_id(0); i < 256; i += get_local_size(0))
        atomic_add(y + i, mine[i]);
}

/* ---- elements by index ---- */

__kernel void gather(__global const float *x, __global const long *index, __global float *y, const ulong n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = x[index[i]];
}
