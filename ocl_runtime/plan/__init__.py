"""From array expressions to kernels and launches.

In the order in which an expression goes through them:

    target.py           the device as the planner sees it
    launch.py           a kernel with its arguments and sizes
    structure.py        expressions without memory, sizes and scalars
    donation.py         what of them nobody else needs
    fusion/             groups of operations, each of which becomes a kernel
    kernels/            the kernels and their arguments
    executor.py         what is needed of a runtime
    handles.py          where values are, until their last use
    memory.py           where the results of a plan lie, and what is written over what
    planning.py         what planning needs of a runtime
    planner.py          all of it together
    host/               from launches to a host program, and from that to a schedule
    cache/              plans that are made once for all expressions that are alike
    explain.py          a plan for a person to read
    tracing.py          who writes down what would be computed, instead of computing it
    registry.py         what an array is now
    checks.py           places in index arrays, checked on the device
    readers.py          what others need of memory that is about to be written over
    history.py          which live values are kept that are computed on the way
    evaluate.py         computing nodes
"""
