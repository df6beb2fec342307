"""Seeing what happens. Nothing below calls this package except through `ocl_runtime.execute.engine.Recorder`.

stages.py     every stage of a kernel as text, by name
dump.py       a recorder that writes them to a folder
"""
