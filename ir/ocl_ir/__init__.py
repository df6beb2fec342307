"""The languages of the library and what gives them meaning. Needs only NumPy, never OpenCL.

What all of them share:

    errors.py           the root of the error tree
    types.py            scalar, vector and pointer types
    numpy_functions.py  what operations mean where NumPy has no function for them
    ops.py              the table of operations
    sizes.py            integers that a call binds, and formulas of them
    guards.py           sizes with an example, and what code found out about them
    reference.py        operands with Python operators, and the line that asks
    layout.py           shapes, strides and offsets of arrays

Array expressions:

    nodes.py            their grammar
    interned.py         objects that are made once
    graph.py            the way to make them
    graph_text.py       their text
    substitute.py       other nodes in place of some

Kernels, in the order in which they go through these:

    kernel.py           the grammar of kernel IR
    builder.py          the way to make it
    names.py            one name for each value, in every stage
    printer.py          its text
    fault.py            how a check names statement, neighbourhood and remedy
    intervals.py        the least and the most that an integer value can be
    uniformity.py       which values are the same for every work-item of a group
    verify_scopes.py    values are bound once, and used where they are seen
    verify_types.py     operands have the types that operations take
    verify_flow.py      loops, branches and barriers
    verify_memory.py    what is loaded and stored, and as what
    verify_kernel.py    all of these checks
    passes/             what makes kernels better
    inline.py           what is written as part of a larger expression
    liveness.py         where values live
    locals.py           how they become declarations
    accesses.py         which pointers a kernel reads and writes
    work.py             how many operations it does, about

The meaning of kernels:

    arguments.py        the interpreter's arguments and sizes, checked
    evaluate.py         one operation on arrays
    races.py            who touched what, and whether an order lies between
    memory.py           the interpreter's memory, watched for races and bounds
    interpret.py        the interpreter

Host programs:

    host.py             their grammar
    host_builder.py     the way to make them
    host_text.py        their text
    aliases.py          chains of views, and whether a view fits its memory
    verify_views.py     the same where numbers are known before a call
    verify_host.py      what every program must fulfil, whatever its sizes
    written.py          which bytes of a buffer have been computed
    schedule.py         a program with its sizes bound
    conflicts.py        which commands touch the same bytes
    verify_order.py     the proof that those are ordered
    interpret_host.py   the meaning of programs
"""
