"""What users draw with: NumPy's `Generator`, whose draws are arrays that are not computed yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ocl_ir.source_line import calling_line
from ocl_ir.types import U32
from ocl_runtime.arrays import Array, float64, int64
from ocl_runtime.arrays.axes import length_of, shape_of
from ocl_runtime.arrays.current_runtime import current_executor
from ocl_runtime.errors import ShapeError
from ocl_runtime.random import counts, distributions, gammas, mixtures
from ocl_runtime.random.multivariate import Check, Method, multivariate_normal
from ocl_runtime.random.orders import permutation, permuted, shuffle
from ocl_runtime.random.parameters import Parameter, Size, checked, line_of_probabilities, prepared
from ocl_runtime.random.philox import Philox
from ocl_runtime.random.whole_numbers import choice, integers
from ocl_runtime.random.words import normal, uniform, words, words_for


class Generator:
    """Draws random numbers of a stream, as NumPy's `Generator` does, on the runtime in use.

        rng = Generator(Philox(42))              # or default_rng(42)
        x = rng.normal(5.0, 2.0, (100, 100))

    Each draw is an expression that takes no memory until it must. `size` is a length, a shape, or None: then a draw has
    the shape that its parameters broadcast to, () if these are numbers. Reals are of the default real dtype, float32 or
    float64 as `dtype` says, or float64 where a parameter is an array of that. The numbers depend on the seed, on the
    draws before, on dtype and shape, and on nothing else: not on the device, nor on what is made of them.

    All methods raise `ShapeError` for a size that parameters do not broadcast to, `DistributionError` (a ValueError)
    for parameters that are out of range, if they are numbers or arrays of the host, and while a function is captured,
    and `DTypeError` (a TypeError) for other dtypes than they draw. Arrays of the device are not looked at.
    """

    def __init__(self, bit_generator: Philox) -> None:
        self._stream = bit_generator

    @property
    def bit_generator(self) -> Philox:
        """The stream, which has the state."""
        return self._stream

    def spawn(self, n_children: int) -> list[Generator]:
        """So many generators with streams of their own, others at each call."""
        return [Generator(stream) for stream in self._stream.spawn(n_children)]

    def jumped(self, jumps: int = 1) -> Generator:
        """A generator of the same key, 2**32 draws further for each jump."""
        return Generator(self._stream.jumped(jumps))

    def __repr__(self) -> str:
        return f"Generator({self._stream!r})"

    def bytes(self, length: int) -> bytes:
        """So many random bytes, on the host: those of the words of 32 bits of one draw, the lower ones of each first.
        So fewer bytes of the same state are the first ones of more.

        Raises `ShapeError` for a length that is negative or no integer.
        """
        count = length_of("a draw of bytes", length)
        word = words(self._stream, (-(-count // 4),), U32, current_executor())
        return word.numpy().astype("<u4").tobytes()[:count]

    def random(self, size: Size = None, dtype: Any = None) -> Array:
        """Uniform numbers from 0 below 1: multiples of 2**-24 for float32, of 2**-53 for float64, the same bits on each
        device.

            rng.random((2, 3))
        """
        return self._draw("random", size, dtype, uniform)

    def uniform(self, low: Parameter = 0.0, high: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Uniform numbers from `low` below `high`, which rounding may reach. Their difference is finite, and not below
        0."""
        return self._draw(
            "uniform",
            size,
            dtype,
            lambda word, real, low, high: low + (high - low) * uniform(word, real),
            low=low,
            high=high,
        )

    def standard_normal(self, size: Size = None, dtype: Any = None) -> Array:
        """Normal numbers of mean 0 and variance 1, the same bits on each device.

        The inverse of the distribution's function, of one word each: float32 by a polynomial as in Giles, Approximating
        the erfinv function (2010), within 7e-7 and up to 6.3; float64 by Wichura, Algorithm AS 241 (1988), up to 9.1.
        """
        return self._draw("standard_normal", size, dtype, normal)

    def normal(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Normal numbers with a mean and a standard deviation, which is not below 0.

        rng.normal(0.0, asarray([1.0, 2.0]), (1000, 2))
        """
        return self._draw(
            "normal", size, dtype, lambda word, real, loc, scale: loc + scale * normal(word, real), loc=loc, scale=scale
        )

    def lognormal(
        self, mean: Parameter = 0.0, sigma: Parameter = 1.0, size: Size = None, *, dtype: Any = None
    ) -> Array:
        """Numbers whose logarithm is normal, with a mean and a standard deviation, which is not below 0."""
        return self._draw("lognormal", size, dtype, distributions.lognormal, mean=mean, sigma=sigma)

    def standard_exponential(self, size: Size = None, dtype: Any = None) -> Array:
        """Exponential numbers of mean 1: -log(v) for v above 0 up to 1."""
        return self._draw("standard_exponential", size, dtype, distributions.exponential)

    def exponential(self, scale: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Exponential numbers with a mean, which is not below 0."""
        return self._draw(
            "exponential",
            size,
            dtype,
            lambda word, real, scale: scale * distributions.exponential(word, real),
            scale=scale,
        )

    def laplace(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Numbers of the double exponential distribution; `scale` is not below 0."""
        return self._draw("laplace", size, dtype, distributions.laplace, loc=loc, scale=scale)

    def logistic(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Logistic numbers; `scale` is not below 0."""
        return self._draw("logistic", size, dtype, distributions.logistic, loc=loc, scale=scale)

    def gumbel(self, loc: Parameter = 0.0, scale: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Numbers of Gumbel's distribution of greatest values; `scale` is not below 0."""
        return self._draw("gumbel", size, dtype, distributions.gumbel, loc=loc, scale=scale)

    def rayleigh(self, scale: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Rayleigh's distribution; `scale` is not below 0."""
        return self._draw("rayleigh", size, dtype, distributions.rayleigh, scale=scale)

    def weibull(self, a: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Weibull's distribution of a shape, which is above 0, and scale 1."""
        return self._draw("weibull", size, dtype, distributions.weibull, a=a)

    def pareto(self, a: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """The distribution of Pareto II of a shape, which is above 0; add 1 for that of Pareto."""
        return self._draw("pareto", size, dtype, distributions.pareto, a=a)

    def power(self, a: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Numbers up to 1 whose density is a power, `a - 1`, of them; `a` is above 0."""
        return self._draw("power", size, dtype, distributions.power, a=a)

    def standard_cauchy(self, size: Size = None, *, dtype: Any = None) -> Array:
        """Cauchy's distribution of median 0 and scale 1: tangents of angles that are all as likely."""
        return self._draw("standard_cauchy", size, dtype, distributions.standard_cauchy)

    def triangular(
        self, left: Parameter, mode: Parameter, right: Parameter, size: Size = None, *, dtype: Any = None
    ) -> Array:
        """Numbers between `left` and `right`, which are the likelier the nearer they are to `mode`."""
        return self._draw("triangular", size, dtype, distributions.triangular, left=left, mode=mode, right=right)

    def wald(self, mean: Parameter, scale: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Wald's, or the inverse Gaussian, distribution; mean and scale are above 0."""
        return self._rejected("wald", size, dtype, mixtures.wald, mean=mean, scale=scale)

    def standard_gamma(self, shape: Parameter, size: Size = None, dtype: Any = None) -> Array:
        """Gamma numbers of a shape, which is not below 0, and scale 1.

        By Marsaglia and Tsang, A simple method for generating gamma variables (2000), with eight candidates for each.
        """
        return self._rejected("standard_gamma", size, dtype, gammas.gamma, shape=shape)

    def gamma(self, shape: Parameter, scale: Parameter = 1.0, size: Size = None, *, dtype: Any = None) -> Array:
        """Gamma numbers of a shape and a scale, neither of which is below 0.

        rng.gamma(asarray([0.5, 3.0]), 2.0, (1000, 2))
        """
        return self._rejected(
            "gamma", size, dtype, lambda drawing, a, scale: gammas.gamma(drawing, a) * scale, shape=shape, scale=scale
        )

    def chisquare(self, df: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Numbers of chi square with degrees of freedom, which are above 0."""
        return self._rejected("chisquare", size, dtype, gammas.chisquare, df=df)

    def beta(self, a: Parameter, b: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Beta numbers of two shapes, which are above 0."""
        return self._rejected("beta", size, dtype, gammas.beta, a=a, b=b)

    def f(self, dfnum: Parameter, dfden: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Numbers of Fisher's distribution, with degrees of freedom above and below, which are above 0."""
        return self._rejected("f", size, dtype, gammas.f, dfnum=dfnum, dfden=dfden)

    def noncentral_chisquare(self, df: Parameter, nonc: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Sums of squares of normal numbers whose means have squares of the sum `nonc`, not below 0; the degrees of
        freedom are above 0. Up to 1 degree, and of an array of them, raises `DTypeError` without float64."""
        return self._rejected("noncentral_chisquare", size, dtype, mixtures.noncentral_chisquare, df=df, nonc=nonc)

    def noncentral_f(
        self, dfnum: Parameter, dfden: Parameter, nonc: Parameter, size: Size = None, *, dtype: Any = None
    ) -> Array:
        """Numbers of Fisher's distribution over a numerator of `noncentral_chisquare`."""
        return self._rejected("noncentral_f", size, dtype, mixtures.noncentral_f, dfnum=dfnum, dfden=dfden, nonc=nonc)

    def standard_t(self, df: Parameter, size: Size = None, *, dtype: Any = None) -> Array:
        """Numbers of Student's distribution with degrees of freedom, which are above 0."""
        return self._rejected("standard_t", size, dtype, gammas.standard_t, df=df)

    def dirichlet(self, alpha: Any, size: Size = None, *, dtype: Any = None) -> Array:
        """Vectors of numbers that add up to 1, along the last axis: of Dirichlet's distribution of shapes, a line of
        numbers above 0.

            rng.dirichlet([1.0, 2.0, 3.0], 100)       # shape (100, 3)

        Raises `ShapeError` for shapes with another number of axes.
        """
        (line,) = checked("dirichlet", {"alpha": alpha}).values()
        if line.ndim != 1:
            raise ShapeError(f"dirichlet of {alpha!r}", place=calling_line(), remedy="give a line of shapes")
        whole = (*(() if size is None else shape_of(size)), line.size)
        return self._rejected("dirichlet", whole, dtype, gammas.dirichlet, alpha=alpha)

    def poisson(self, lam: Parameter = 1.0, size: Size = None) -> Array:
        """Poisson numbers of a mean, which is not below 0, nor above what int64 can count, in int64.

        By Hörmann, The transformed rejection method for generating Poisson random variables (1993), with twenty
        candidates for each; of a mean below 10 by sums of probabilities. Raises `DTypeError` without float64.
        """
        return self._counted("poisson", size, counts.poisson, lam=lam)

    def binomial(self, n: Parameter, p: Parameter, size: Size = None) -> Array:
        """How many of `n` trials, from 0 up to 2**53, succeed with a probability, in int64.

        By Hörmann, The generation of binomial random variates (1993), otherwise as `poisson`.
        """
        return self._counted("binomial", size, counts.binomial, n=n, p=p)

    def negative_binomial(self, n: Parameter, p: Parameter, size: Size = None) -> Array:
        """How many trials fail before `n` succeed, which is above 0, with a probability, which is, too; in int64. Any
        real `n` will do: Poisson numbers of gamma numbers as means."""
        return self._counted("negative_binomial", size, counts.negative_binomial, n=n, p=p)

    def geometric(self, p: Parameter, size: Size = None) -> Array:
        """How many trials it takes to the first success, of a probability above 0 up to 1, in int64."""
        return self._counted("geometric", size, counts.geometric, p=p)

    def logseries(self, p: Parameter, size: Size = None) -> Array:
        """Logarithmic numbers, from 1 on, of a parameter from 0 below 1, in int64."""
        return self._counted("logseries", size, counts.logseries, p=p)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        check_valid: Check = "warn",
        tol: float = 1e-8,
        *,
        method: Method = "svd",
        dtype: Any = None,
    ) -> Array:
        """Normal vectors with means and covariances, along the last axis.

            rng.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 100)    # shape (100, 2)

        Covariances of the host are looked at: `check_valid` says what is done of those that are not symmetric positive
        semidefinite within `tol`: "raise" a `DistributionError`, "warn" (a RuntimeWarning) or "ignore". Those of the
        device are factored there.
        """
        executor = current_executor()
        return multivariate_normal(self._stream, executor, mean, cov, size, check_valid, tol, method, dtype)

    def multinomial(self, n: Parameter, pvals: Any, size: Size = None) -> Array:
        """How many of `n` trials have each outcome, along the last axis, in int64; `pvals` are their probabilities, a
        line of the host.

            rng.multinomial(20, [1 / 6] * 6, 100)     # shape (100, 6)
        """
        p = line_of_probabilities(pvals)
        return self._counted("multinomial", size, lambda drawing, n: counts.multinomial(drawing, n, p), n=n)

    def integers(
        self, low: Any, high: Any = None, size: Size = None, dtype: Any = int64, endpoint: bool = False
    ) -> Array:
        """Integers from `low` below `high`, or up to it if `endpoint`; with one number, from 0.

            rng.integers(1, 6, 100, endpoint=True)    # dice

        No value is more likely than another by more than a part in 2**32: by the upper half of a product (Lemire, Fast
        random integer generation in an interval, 2019). The bounds of arrays of the device are taken as they are.
        """
        return integers(self._stream, current_executor(), low, high, size, dtype, endpoint)

    def choice(
        self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Array:
        """Elements of `a` along an axis, or, of an integer, integers below it: each as likely, or as `p` says.

            rng.choice(5, 100, p=[0.1, 0.2, 0.4, 0.2, 0.1])

        The running sum of `p` is searched for uniform numbers. Without `replace` no element is chosen twice: those with
        the least of random keys are, in their order, which is random, too, whatever `shuffle` says; with `p`, each is
        the next one with a probability in proportion to its own among those that are left. Raises `DistributionError`
        for more than there are.
        """
        return choice(self._stream, current_executor(), a, size, replace, p, axis)

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """The integers below a number in a random order, or the parts of an array along an axis.

            rng.permutation(5)                        # [3, 0, 4, 1, 2]

        All orders are as likely, but for n**2 parts in 2**65 of n. The same on every device.
        """
        return permutation(self._stream, current_executor(), x, axis)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Puts the parts of an array of the device along an axis in a random order, in place. Raises `DTypeError` for
        anything else."""
        shuffle(self._stream, current_executor(), x, axis)

    def permuted(self, x: Any, *, axis: int | None = None, out: Array | None = None) -> Array:
        """The elements of each line of an array along an axis in a random order of its own; without an axis all of
        them, in the shape of `x`. Gives `out`, if that is there to be written."""
        return permuted(self._stream, current_executor(), x, axis, out)

    def _draw(self, what: str, size: Size, dtype: Any, made: Callable[..., Array], **parameters: Any) -> Array:
        executor = current_executor()
        real, shape, values = prepared(what, size, dtype, executor, parameters)
        return made(words_for(self._stream, shape, real, executor), real, *values)

    def _counted(self, what: str, size: Size, made: Callable[..., Array], **parameters: Any) -> Array:
        """A draw of counts, which are made of float64."""
        return self._rejected(what, size, float64, made, **parameters)

    def _rejected(self, what: str, size: Size, dtype: Any, made: Callable[..., Array], **parameters: Any) -> Array:
        """A draw of numbers that take several words each."""
        executor = current_executor()
        real, shape, values = prepared(what, size, dtype, executor, parameters)
        return made(gammas.Drawing(self._stream, executor, shape, real), *values)


def default_rng(
    seed: int | Sequence[int] | np.random.SeedSequence | Philox | Generator | None = None,
) -> Generator:
    """A generator: of a seed, as `Philox` takes one; of a stream; or itself.

        rng = default_rng(42)

    Raises `DistributionError` (a ValueError) for what is no seed.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, Philox) else Philox(seed))
