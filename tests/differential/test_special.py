"""Special functions against exact values and SciPy, by the interpreter of kernel IR."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special as scipys

import ocl_runtime.arrays as xp
from ocl_ir.bfloat16 import bits_of, floats_of
from ocl_runtime import special
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime
from tests.support.special_bounds import BOUNDS, complaints, known
from tests.support.special_values import KNOWN
from tests.support.ulp import ulps

QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
ONE = sorted(BOUNDS)
TWO = ("kl_div", "rel_entr", "xlog1py", "xlogy")
LANES = Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=32)


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime(LANES)) as made:
        yield made


def of(name: str, *hosts: np.ndarray) -> np.ndarray:
    return getattr(special, name)(*map(xp.asarray, hosts)).numpy()


def test_each_function_has_exact_values_and_a_bound() -> None:
    joined = {"log_softmax", "logsumexp", "softmax"}
    assert set(KNOWN) == set(BOUNDS) == set(special.__all__) - {*TWO, *joined, "psi"}
    assert special.psi is special.digamma


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ONE)
def test_exact_values(name: str, dtype: str) -> None:
    x, exact = known(name, dtype)
    found = of(name, x)
    assert found.dtype == np.dtype(dtype)
    assert not complaints(name, found, x, exact)


_LIMITS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, np.inf, -np.inf, np.nan]
_DIFFER = {"gammaln": {-np.inf}, "i0": {np.inf, -np.inf}, "i1": {np.inf, -np.inf}}
"""SciPy's i0 and i1 are NaN at infinity, its gammaln minus infinity at minus infinity, where C's is infinity."""


def scipys_value(name: str, x: np.ndarray) -> np.ndarray:
    """SciPy's, of gamma at its poles as since SciPy 1.15."""
    value: np.ndarray = getattr(scipys, name)(x)
    if name == "gamma":
        value = np.where(x == 0, np.copysign(np.inf, x), np.where((x < 0) & (x == np.floor(x)), np.nan, value))
    return value


@pytest.mark.parametrize("name", ONE)
def test_limits_are_scipys(name: str) -> None:
    x = np.array([limit for limit in _LIMITS if limit not in _DIFFER.get(name, ())])
    with np.errstate(all="ignore"):
        expected = np.sinc(x) if name == "sinc" else scipys_value(name, x)
    expected = np.where(np.abs(expected) < 1e-16, 0, expected)
    np.testing.assert_allclose(of(name, x), expected, rtol=1e-14)
    assert np.isinf(of("i0", np.array([-np.inf])))[0]
    assert of("i1", np.array([-np.inf]))[0] == of("gammaln", np.array([np.inf]))[0] * -1 == -np.inf


def test_far_integers_and_what_is_nearly_0() -> None:
    far, near = np.array([-1e308, -1e306, -1e17, -7.0]), np.array([-5e-324, -1e-300, 5e-324, 1e-30])
    np.testing.assert_array_equal(of("gammaln", far), scipys.gammaln(far))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(of("digamma", near), scipys.digamma(near), 1e-15)
        np.testing.assert_allclose(of("digamma", near.astype("f4")[1:]), scipys.digamma(near.astype("f4")[1:]), 1e-6)


@pytest.mark.parametrize("name", ["erf", "softmax", "log_softmax", "logsumexp"])
def test_errors_name_the_function(name: str) -> None:
    function = getattr(special, name)
    with pytest.raises(DTypeError, match=f"^{name} of complex"):
        function(xp.asarray([1j]))
    if name != "erf":
        with pytest.raises(IndexError, match=f"^{name} along axis 2"):
            function(xp.asarray([1.0]), axis=2)
        with pytest.raises(ValueError, match=f"^{name} of no elements"):
            function(xp.asarray([]))


def wide(name: str, x: np.ndarray) -> np.ndarray:
    """SciPy's value in float64, which is exact enough for float32."""
    x = x.astype("f8")
    with np.errstate(all="ignore"):
        if name == "sinc":
            turned = x - 2 * np.rint(x / 2)
            folded = np.where(np.abs(turned) > 0.5, np.copysign(1, turned) - turned, turned)
            return np.where(x == 0, 1, np.sin(np.pi * folded) / (np.pi * x))
        return scipys_value(name, x)


FLOATS = hnp.arrays(
    np.float32,
    st.integers(1, 20),
    elements=st.floats(-40, 40, width=32) | st.floats(-2, 2, width=32) | st.floats(width=32),
)


@given(name=st.sampled_from(ONE), x=FLOATS)
@QUICK
def test_any_number(name: str, x: np.ndarray) -> None:
    x = x[~np.isin(x, list(_DIFFER.get(name, ())))]
    found, expected = of(name, x), wide(name, x)
    tiny = np.finfo("f4").tiny
    with np.errstate(all="ignore"):
        terms = np.abs(x).astype("f8")
        if name in {"gammaln", "digamma"}:  # the bounds of negative numbers are absolute
            scale = np.abs(scipys.gammaln(terms)) + np.abs(np.log(terms)) + 4 if name == "gammaln" else expected**2 + 4
            near = np.abs(found - expected) <= np.where(x < 0, scale * 2e-6, 0)
        else:
            near = np.abs(expected) < tiny
        # float32 overflows where float64 does not; what is rounded to infinity may be the largest number
        edge = np.abs(expected) > 0.999 * np.finfo("f4").max
        good = (ulps(found, expected) <= BOUNDS[name]) | near | (edge & (np.abs(found) > 3.3e38))
        good |= (np.abs(x) < tiny) & (x != 0)  # what is subnormal may count as 0
    assert good.all(), (name, x[~good], found[~good], expected[~good])


@given(
    name=st.sampled_from(TWO),
    pairs=st.lists(
        st.tuples(*[st.sampled_from([0.0, -1.0, np.inf, np.nan, 1e-300, 1e300]) | st.floats(1e-3, 1e3)] * 2),
        min_size=1,
        max_size=12,
    ),
)
@QUICK
def test_functions_of_two(name: str, pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    found = of(name, x, y)
    with np.errstate(all="ignore"):
        expected = getattr(scipys, name)(x, y)
        if name == "kl_div":  # SciPy's own quotient underflows
            expected = np.where((x > 0) & (y > 0), scipys.rel_entr(x, y) - x + y, expected)
        near = np.abs(found - expected) <= 1e-14 * (np.abs(x) + np.abs(y))
    same = np.isclose(found, expected, rtol=1e-13, atol=0, equal_nan=True)
    assert (same | near).all(), (name, x, y, found, expected)


def test_numbers_near_each_other_keep_their_difference() -> None:
    x = np.array([1 + 2.0**-30, 5.0, 2.0**900])
    y = np.array([1.0, 5 * (1 - 2.0**-40), 2.0**900 * (1 - 2.0**-50)])
    exact = [2.0**-30 * (1 + 2.0**-31), 5 * 2.0**-40, 2.0**850]
    np.testing.assert_allclose(of("rel_entr", x, y), exact, rtol=1e-9)


@given(
    x=hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.floats(-800, 800)),
    data=st.data(),
)
@QUICK
def test_sums_of_exponentials(x: np.ndarray, data: st.DataObject) -> None:
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    if data.draw(st.booleans()):
        x.flat[0] = data.draw(st.sampled_from([np.inf, -np.inf, np.nan]))
    a = xp.asarray(x)
    with np.errstate(all="ignore"):
        for name in ("softmax", "log_softmax", "logsumexp"):
            expected = getattr(scipys, name)(x, axis=axis)
            np.testing.assert_allclose(getattr(special, name)(a, axis).numpy(), expected, rtol=1e-12, atol=1e-12)
        weights = np.random.default_rng(x.size).integers(-2, 3, x.shape).astype("f8")
        keep = data.draw(st.booleans())
        found = special.logsumexp(a, axis=axis, b=xp.asarray(weights), keepdims=keep, return_sign=True)
        expected = scipys.logsumexp(x, axis=axis, b=weights, keepdims=keep, return_sign=True)
    exact = np.isfinite(x).all() and (weights != 0).any(axis=axis).all()  # else SciPy may give NaN
    for one, other in zip(found, expected, strict=True):
        assert one.shape == np.shape(other)
        if exact:
            # What is left of a sum of both signs is rounding; SciPy's may be NaN.
            cancels = ~(np.abs(expected[0] - x.max()) <= 9)
            np.testing.assert_allclose(
                np.where(cancels, 0, one.numpy()), np.where(cancels, 0, other), rtol=1e-9, atol=1e-9
            )


def test_halves_are_computed_as_float32_and_rounded_once() -> None:
    x = np.linspace(0.1, 0.9, 20, dtype="f4")
    for name in ONE:
        half = x.astype("f2")
        np.testing.assert_array_equal(of(name, half), of(name, half.astype("f4")).astype("f2"))
        brain = xp.astype(xp.asarray(x), xp.bfloat16)
        held = floats_of(bits_of(x))
        found = xp.astype(getattr(special, name)(brain), "f4").numpy()
        np.testing.assert_array_equal(found, floats_of(bits_of(of(name, held))))


def test_operands() -> None:
    integers = xp.asarray(np.array([1, 2, 3], "i4"))
    assert special.gammaln(integers).dtype == np.float32
    assert special.xlogy(2, integers).shape == (3,)
    both = special.rel_entr(xp.asarray(np.ones((3, 1), "f4")), xp.asarray(np.ones(4)))
    assert (both.dtype, both.shape) == (np.float64, (3, 4))
    assert special.expit(xp.asarray(np.zeros((0, 3), "f4"))).numpy().shape == (0, 3)
    assert float(special.expit(0.0)) == 0.5
    with pytest.raises(Error, match=r"call xlogy\(x, y\)"):
        special.xlogy(integers)
    with pytest.raises(ValueError, match="broadcast"):
        special.xlogy(integers, xp.asarray(np.ones(2)))
    assert repr(special.i0) == "<special function i0>"


def test_they_fuse_to_the_same_bits(runtime: InterpretedRuntime) -> None:
    host = np.linspace(0.25, 20, 77, dtype="f4")
    x = xp.asarray(host)
    runtime.launched.clear()
    fused = (special.digamma(x * 2) + special.ndtr(-x)).numpy()
    assert len(runtime.launched) == 1
    np.testing.assert_array_equal(fused, of("digamma", host * 2) + of("ndtr", -host))


def test_each_lane_has_the_bits_of_a_number_alone() -> None:
    x = np.linspace(0.05, 0.95, 13, dtype="f4")
    for name in ONE:
        alone = np.concatenate([of(name, x[number : number + 1]) for number in range(x.size)])
        np.testing.assert_array_equal(of(name, x), alone)
