## A kernel that runs a user's statements for each place of arrays.
/* ${name}: ${note} */
% for extension in extensions:
#pragma OPENCL EXTENSION ${extension} : enable
% endfor
#pragma OPENCL FP_CONTRACT OFF
% for typedef in typedefs:
${typedef};
% endfor
${preamble}

__kernel void ${name}(${(",\n" + " " * (len(name) + 15)).join(params)})
{
% for pointer in pointers:
    ${pointer};
% endfor
${before}
    for (${index} i = get_global_id(0); i < _ind_size; i += get_global_size(0)) {
% for statement in coordinates:
        ${statement};
% endfor
% for operand in read:
        const ${operand.type} ${operand.name} = ${operand.pointer}[${operand.index}];
% endfor
% for operand in written:
        ${operand.type} ${operand.name} = ${operand.pointer}[${operand.index}];
% endfor
        ${operation};
% for operand in written:
        ${operand.pointer}[${operand.index}] = ${operand.name};
% endfor
    }
${after}
}
