"""Special functions of arrays, under SciPy's names: `scipy.special` calls these with SCIPY_ARRAY_API=1.

    import ocl_runtime as ocl

    x = ocl.linspace(0.5, 5, 1000)
    y = ocl.special.gammaln(x) + ocl.special.expit(x)    # one kernel

Each is written in the kernel language, as straight code that computes all lanes of a vector at once; it fuses with
what is around it, and kernels in Python call it by the same name. docs/NUMERICS.md has the bounds of their errors. In
the order in which things build on each other:

    element_function.py    functions of elements as operations of arrays
    polynomials.py         Horner's rule
    gamma_functions.py     gamma gammaln digamma (psi)
    error_functions.py     erf erfc erfinv erfcinv ndtr ndtri log_ndtr
    bessel_functions.py    i0 i0e i1 i1e
    logistic_functions.py  expit logit log_expit, entr kl_div rel_entr xlogy xlog1py, sinc
    joined.py              logsumexp softmax log_softmax
"""

from ocl_runtime.special.bessel_functions import i0, i0e, i1, i1e
from ocl_runtime.special.error_functions import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ocl_runtime.special.gamma_functions import digamma, gamma, gammaln, psi
from ocl_runtime.special.joined import log_softmax, logsumexp, softmax
from ocl_runtime.special.logistic_functions import (
    entr,
    expit,
    kl_div,
    log_expit,
    logit,
    rel_entr,
    sinc,
    xlog1py,
    xlogy,
)

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcinv", "erfinv", "expit", "gamma", "gammaln", "i0", "i0e", "i1", "i1e",
    "kl_div", "log_expit", "log_ndtr", "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "psi", "rel_entr", "sinc",
    "softmax", "xlog1py", "xlogy",
]  # fmt: skip
