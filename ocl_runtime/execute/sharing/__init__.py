"""Memory that PyOpenCL uses too.

foreign.py   PyOpenCL's own objects
borrowed.py  a user's buffer as a storage of ours
sharing.py   who uses what, and in which order
"""
