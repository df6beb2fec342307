"""Fourier transforms, in order:

passes.py          which passes over memory a length takes, and their launches
form.py            the key of a kernel, and where its transforms are
butterflies.py     short transforms in registers, and roots of unity
group_kernel.py    the kernels of GPUs
lanes_kernel.py    the kernels of CPUs
half_spectrum.py   transforms of real numbers by those of half as many complex ones
roots.py           roots of unity in memory
modular_powers.py  the order in which a line of a prime length is convolved
"""
