/* how a matrix of halves lies, for boxes of 8 rows */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A word of a tensor map: a matrix of 16-bit elements, copied in boxes of 64 columns whose units of 16 bytes are swizzled. */
static inline void describe_matrix(__global uint *map, __global const void *source, const uint word, const uint columns,
                                   const uint rows, const uint row_words, const uint box_rows)
{
    const ulong address = (ulong)source;
    map[word] = word == 0 ? (uint)address : word == 1 ? (uint)(address >> 32)
        : word == 2 ? 1 << 4 | 10 << 7 | 3 << 13 | 2 << 17 /* two axes, bfloat16, swizzled in 128 bytes, promoted in L2 */
        : word == 3 ? row_words / 4 /* units of 16 bytes from row to row */
        : word == 8 ? columns - 1 : word == 9 ? rows - 1
        : word == 13 ? 63u << 24 : word == 14 ? box_rows - 1
        : word == 16 ? 128 * box_rows : word == 18 ? 0x400 : 0;
}

__kernel void description(const uint n,
                          __global const uint *a_buffer,
                          const ulong a_offset,
                          __global uint *maps_buffer,
                          const ulong maps_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global uint *maps = AT(maps_buffer, maps_offset);
    const uint i = get_global_id(0);
    describe_matrix(maps, a, i, n, 12u, 64u, 8);
}
