"""A schedule made ready to run again and again.

bound.py   its nodes, ready but for memory
run.py     one call of them, on their streams
replay.py  a schedule whose order was proven, to be called with memory by name
eager.py   a schedule run command by command
"""
