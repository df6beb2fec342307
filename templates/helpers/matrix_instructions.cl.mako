## Matrix instructions of a warp, by PTX. ocl_ir.kernel.matrix_instruction says which work-item holds what.
##
<%def name="matrix_instruction(dtype, shape, number, registers, constraint, letter)">\
static inline ${number}4 matrix_${dtype}(const ${registers}4 a, const ${registers}2 b, const ${number}4 sums)
{
    ${number} s0 = sums.s0, s1 = sums.s1, s2 = sums.s2, s3 = sums.s3;
    asm volatile("mma.sync.aligned.${shape} {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+${letter}"(s0), "+${letter}"(s1), "+${letter}"(s2), "+${letter}"(s3)
                 : "${constraint}"(a.s0), "${constraint}"(a.s1), "${constraint}"(a.s2), "${constraint}"(a.s3),
                   "${constraint}"(b.s0), "${constraint}"(b.s1));
    return (${number}4)(s0, s1, s2, s3);
}
</%def>
##
<%def name="matrix_f16(t)">\
/* A 16 x 16 matrix of halves times a 16 x 8 one is added to sums. */
${matrix_instruction("f16", "m16n8k16.row.col.f32.f16.f16.f32", "float", "uint", "r", "f")}\
</%def>
##
<%def name="matrix_bf16(t)">\
/* A 16 x 16 matrix of bfloat16 times a 16 x 8 one is added to sums. */
${matrix_instruction("bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", "float", "uint", "r", "f")}\
</%def>
##
<%def name="matrix_tf32(t)">\
/* A 16 x 8 matrix of tf32 times an 8 x 8 one is added to sums. */
${matrix_instruction("tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", "float", "uint", "r", "f")}\
</%def>
##
<%def name="matrix_f64(t)">\
/* A 16 x 8 matrix times an 8 x 8 one is added to sums. */
${matrix_instruction("f64", "m16n8k8.row.col.f64.f64.f64.f64", "double", "double", "d", "d")}\
</%def>
