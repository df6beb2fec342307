"""Random numbers on the device: NumPy's `Generator` over lazy arrays, the same numbers on every device.

    import ocl_runtime as ocl

    rng = ocl.random.default_rng(42)
    x = rng.standard_normal((1000, 1000))    # an expression: it takes no memory
    print(float((x * x).mean()))             # drawn and summed by one kernel, or a pair

A draw is a function of places: word `i` of Philox 4x32-10 for a key and a counter. So it fuses with what is made of it,
a slice of it draws only that, and nothing depends on how the work is split. See docs/RANDOM.md. In the order in which a
draw goes through them:

    philox.py         a key, and the counter that each draw advances
    words.py          words of a stream as nodes of the graph; uniform and normal numbers of them
    parameters.py     what a distribution is given, checked, and its shape
    distributions.py  distributions as functions of uniform and normal numbers
    gammas.py         gamma numbers, and distributions that are made of them
    counts.py         Poisson, binomial, multinomial, geometric and logarithmic numbers
    mixtures.py       distributions of several of these: Wald's, and those that are not central
    multivariate.py   normal vectors with covariances
    orders.py         random orders, and choices without replacement
    whole_numbers.py  integers without bias, and choices
    generator.py      what users draw with
"""

from ocl_runtime.random.generator import Generator, default_rng
from ocl_runtime.random.philox import Philox

__all__ = ["Generator", "Philox", "default_rng"]
