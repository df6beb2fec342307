"""A schedule made ready to run again and again.

steps.py   its nodes, ready to be enqueued
replay.py  all of them, one after the other or as streams
eager.py   a schedule run command by command
"""
