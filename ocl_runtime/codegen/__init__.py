"""Kernel IR to OpenCL C to built programs: driver.py builds one, cache.py remembers it."""
