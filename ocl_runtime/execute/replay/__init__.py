"""A schedule made ready to run again and again.

handles.py       kernel objects, whose arguments are set where they differ
steps.py         what a step is, and what it touches
tracking.py      which accesses of the steps streams are told of
pattern.py       what is the same for all sizes of a program, and what each decides
bound.py         the nodes of a schedule as steps, ready but for memory
descriptions.py  steps that describe where matrices lie, kept for memory that comes again
execution.py     the steps over some memory, on their way to the streams
run.py           one call of them
replay.py        a schedule whose order was proven, to be called with memory by name
"""
