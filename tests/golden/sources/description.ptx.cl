/* how a matrix of halves lies, for boxes of 8 rows */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A tensor map: a matrix of 16-bit elements, copied in boxes of 64 columns whose units of 16 bytes are swizzled. */
static inline void describe_matrix(__global uint *map, __global const void *source, const uint columns,
                                   const uint rows, const uint row_words, const uint box_rows)
{
    const ulong address = (ulong)source;
    for (uint word = 0; word < 32; ++word) {
        map[word] = 0;
    }
    map[0] = (uint)address;
    map[1] = (uint)(address >> 32);
    map[2] = 1 << 4 | 10 << 7 | 3 << 13 | 2 << 17; /* two axes, bfloat16, swizzled in 128 bytes, promoted in L2 */
    map[3] = row_words / 4;                        /* units of 16 bytes from row to row */
    map[8] = columns - 1;
    map[9] = rows - 1;
    map[13] = 63u << 24;
    map[14] = box_rows - 1;
    map[16] = 128 * box_rows;
    map[18] = 0x400;
}

__kernel void description(const uint n,
                          __global const uint *a_buffer,
                          const ulong a_offset,
                          __global uint *maps_buffer,
                          const ulong maps_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global uint *maps = AT(maps_buffer, maps_offset);
    describe_matrix(maps, a, n, 12u, 64u, 8);
}
