/* windows of pictures of halves, for boxes of 40 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A word of a tensor map: windows of bfloat16, of which boxes take 64 columns of one place each (im2col). */
static inline void describe_windows(__global uint *map, __global const void *source, const uint word, const uint columns,
                                    const uint width, const uint height, const uint images,
                                    const uint width_words, const uint height_words, const uint image_words,
                                    const uint step, const uint step_down, const uint before, const uint above,
                                    const uint across, const uint down, const uint box_rows)
{
    const ulong address = (ulong)source;
    const uint behind = (across - 1) * step + 1 - before - width; /* from the last place to where the last window begins */
    const uint below = (down - 1) * step_down + 1 - above - height;
    map[word] = word == 0 ? (uint)address : word == 1 ? (uint)(address >> 32)
        : word == 2 ? 1 | 3 << 4 | 10 << 7 | 3 << 13 | 2 << 17 /* windows, four axes, bfloat16, swizzled in 128 bytes, promoted in L2 */
        : word == 3 ? width_words / 4 : word == 4 ? height_words / 4 : word == 5 ? image_words / 4
        : word == 8 ? columns - 1 : word == 9 ? width - 1 : word == 10 ? height - 1 : word == 11 ? images - 1
        : word == 13 ? 63u << 24 | (step - 1) << 3 | (step_down - 1) << 6
        : word == 14 ? (-before & 0xff) | (-above & 0xff) << 8 | (behind & 0xff) << 16 | below << 24
        : word == 15 ? box_rows - 1 : word == 16 ? 128 * box_rows : word == 18 ? 0x400 : 0;
}

__kernel void windows_description(__global const uint *a_buffer,
                                  const ulong a_offset,
                                  __global uint *maps_buffer,
                                  const ulong maps_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global uint *maps = AT(maps_buffer, maps_offset);
    const uint i = get_global_id(0);
    describe_windows(maps, a, i, 64u, 9u, 7u, 2u, 32u, 288u, 2016u, 2u, 1u, 1u, 1u, 5u, 7u, 40);
}
