"""The languages of the library and what gives them meaning. Needs only NumPy, never OpenCL.

In the order in which a kernel goes through them:

    errors.py           the root of the error tree
    types.py            scalar, vector and pointer types
    numpy_functions.py  what operations mean where NumPy has no function for them
    ops.py              the table of operations
    sizes.py            integers that a call binds, and formulas of them
    guards.py           sizes with an example, and what code found out about them
    layout.py           shapes, strides and offsets of arrays
    nodes.py            the grammar of array expressions
    interned.py         objects that are made once
    graph.py            the way to make them
    substitute.py       other nodes in place of some
    kernel.py           the grammar of kernel IR
    reference.py        operands with Python operators
    builder.py          the way to make kernel IR
    names.py            one name for each value, in every stage
    printer.py          its text
    fault.py            how a check names statement, neighbourhood and remedy
    intervals.py        the least and the most that an integer value can be
    uniformity.py       which values are the same for every work-item of a group
    verify_*.py         what every kernel must fulfil: scopes, types, control flow, memory; all in verify_kernel.py
    passes/             what makes kernels better
    inline.py           what is written as part of a larger expression
    liveness.py         where values live
    locals.py           how they become declarations
    arguments.py        the interpreter's arguments and sizes, checked
    evaluate.py         one operation on arrays
    races.py            who touched what, and whether an order lies between
    memory.py           the interpreter's memory, watched for races and bounds
    interpret.py        the meaning of kernel IR
    work.py             how many operations a kernel does, about
    written.py          which bytes of a host program's buffer have been computed
"""
