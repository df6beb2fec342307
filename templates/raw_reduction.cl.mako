## A kernel whose groups fold segments of what a user's expression gives for each place: from either arrays or parts of
## totals to parts or results.
/* ${name}: ${note} */
% for extension in extensions:
#pragma OPENCL EXTENSION ${extension} : enable
% endfor
#pragma OPENCL FP_CONTRACT OFF
% for typedef in typedefs:
${typedef};
% endfor
${preamble}

static inline ${total} _fold(const ${total} a, const ${total} b)
{
    return ${reduce_expr};
}

__kernel __attribute__((reqd_work_group_size(${group}, 1, 1)))
void ${name}(${(",\n" + " " * (len(name) + 6)).join(params)})
{
% for pointer in pointers:
    ${pointer};
% endfor
    __local ${total} _totals[${group}];
    const ${index} _item = get_local_id(0);
    for (${index} _part = get_group_id(0); _part < _parts; _part += get_num_groups(0)) {
        const ${index} _out = _part / _segments;
        const ${index} _longest = (_length + _segments - 1) / _segments;
        const ${index} _first = _part % _segments * _longest;
        const ${index} _end = min(_first + _longest, _length);
        ${total} _total = ${neutral};
        for (${index} _place = _first + _item; _place < _end; _place += ${group}) {
            const ${index} i = _out * _length + _place;
% for statement in coordinates:
            ${statement};
% endfor
% for operand in read:
            const ${operand.type} ${operand.name} = ${operand.pointer}[${operand.index}];
% endfor
            _total = _fold(_total, ${map_expr});
        }
        _totals[_item] = _total;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (${index} _half = ${group} / 2; _half > 0; _half /= 2) {
            if (_item < _half)
                _totals[_item] = _fold(_totals[_item], _totals[_item + _half]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (_item == 0) {
            const ${total} a = _totals[0];
% for operand in written:
            ${operand.type} ${operand.name};
% endfor
            ${post_map_expr};
% for operand in written:
            ${operand.pointer}[${operand.index}] = ${operand.name};
% endfor
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
