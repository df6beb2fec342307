## The three kernels of a scan: items within chunks, what is in front of each chunk, and a user's statement for each item.
<%def name="head()">\
/* ${name}: running ${scan_expr} of ${input_expr} */
% for extension in extensions:
#pragma OPENCL EXTENSION ${extension} : enable
% endfor
#pragma OPENCL FP_CONTRACT OFF
${preamble}

static inline ${item} _fold(const ${item} a, const ${item} b)
{
    return ${scan_expr};
}
</%def>\
<%def name="opening(attributes='')">\
__kernel ${attributes}
void ${name}(${(",\n" + " " * (len(name) + 6)).join(params)})
{
% for pointer in pointers:
    ${pointer};
% endfor
</%def>\
${head()}
% if stage == "chunks":
/* Each work-item scans neighbours, and then the group their totals. */
${opening(f"__attribute__((reqd_work_group_size({group}, 1, 1)))")}\
    __local ${item} _before[2][${group}];
    const ${index} _lane = get_local_id(0);
    const ${index} _first = (get_group_id(0) * (${index})${group} + _lane) * _each;
    const ${index} _end = min(_first + _each, N);
    ${item} _running = 0;
    for (${index} i = _first; i < _end; ++i) {
        const ${item} _own = ${input_expr};
        _running = i == _first ? _own : _fold(_running, _own);
        _items[i] = _running;
    }
    int _side = 0;
    _before[0][_lane] = _running;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (${index} _apart = 1; _apart < ${group}; _apart *= 2) {
        const ${item} _mine = _before[_side][_lane];
        _before[1 - _side][_lane] = _lane < _apart ? _mine : _fold(_before[_side][_lane - _apart], _mine);
        _side = 1 - _side;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (_lane > 0)
        for (${index} i = _first; i < _end; ++i)
            _items[i] = _fold(_before[_side][_lane - 1], _items[i]);
    if (_lane == ${group} - 1)
        _chunks[get_group_id(0)] = _before[_side][_lane];
}
% elif stage == "totals":
/* One work-item: there are few chunks. */
${opening()}\
    ${item} _running = _chunks[0];
    for (${index} _chunk = 1; _chunk < N; ++_chunk) {
        const ${item} _own = _chunks[_chunk];
        _running = _fold(_running, _own);
        _chunks[_chunk] = _running;
    }
}
% else:
static inline ${item} _item_at(__global const ${item} *_items, __global const ${item} *_chunks, const ${index} _chunk_size,
                               const ${index} i)
{
    const ${index} _chunk = i / _chunk_size;
    return _chunk ? _fold(_chunks[_chunk - 1], _items[i]) : _items[i];
}

${opening()}\
    const ${item} last_item = _item_at(_items, _chunks, _chunk_size, N - 1);
    for (${index} i = get_global_id(0); i < N; i += get_global_size(0)) {
        const ${item} item = _item_at(_items, _chunks, _chunk_size, i);
        const ${item} prev_item = i ? _item_at(_items, _chunks, _chunk_size, i - 1) : ${neutral};
        ${output_statement};
    }
}
% endif
