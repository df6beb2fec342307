"""A portable compute runtime for Python on OpenCL."""
