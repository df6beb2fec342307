"""A schedule made ready to run again and again.

handles.py  kernel objects, whose arguments are set where they differ
bound.py    its nodes, ready but for memory
run.py      one call of them, on their streams
replay.py   a schedule whose order was proven, to be called with memory by name
"""
