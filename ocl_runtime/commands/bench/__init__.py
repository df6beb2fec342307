"""ocl-bench: this library beside what a device can do, and beside others.

command.py   the command line
case.py      what a case is made of
cases/       what is measured
data.py      random inputs
opencl.py    PyOpenCL as its users have it; kernels.cl has the kernels by hand
ceilings.py  what the device can do at most
peers/       what it is compared with
verify.py    results beside NumPy's
samples.py   times, medians, spreads
measure.py   a case, checked and timed by turns
building.py  how long a new expression takes to build
record.py    a run as JSON
compare.py   a run beside an earlier one
report.py    the table, and how far the run is
pictures.py  shares of the ceilings, and the roofline
"""
