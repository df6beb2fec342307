"""Classic kernels are right: on the device, with each access checked, in the interpreter, and by hand."""

from __future__ import annotations

import pyopencl as cl
import pytest

from ocl_runtime.device import Device
from tests.support.classic_kernels import CLASSICS
from tests.support.classic_kernels.by_hand import ByHand
from tests.support.classic_kernels.classic import Classic, check, solved
from tests.support.depth import NIGHTLY


@pytest.mark.sample(6)
@pytest.mark.parametrize("size", ["small", "real"] if NIGHTLY else ["small"])
@pytest.mark.parametrize("classic", CLASSICS, ids=str)
def test_on_the_device(classic: Classic, size: str) -> None:
    problem = classic.problem(*getattr(classic, size))
    check(problem, solved(problem))


@pytest.mark.sample(2)
@pytest.mark.parametrize("mode", ["checked", "interpret"] if NIGHTLY else ["interpret"])
@pytest.mark.parametrize("classic", CLASSICS, ids=str)
def test_with_each_access_seen(classic: Classic, mode: str) -> None:
    """Nothing outside of an array, and in the interpreter no race and nothing read before it is written."""
    problem = classic.problem(*classic.small)
    check(problem, solved(problem, mode))


@pytest.mark.sample(2)
@pytest.mark.parametrize("classic", CLASSICS, ids=str)
def test_by_hand(classic: Classic, device: Device) -> None:
    """What the language is measured against computes the same."""
    problem = classic.problem(*classic.small)
    context = cl.Context([device.cl])
    by_hand = ByHand(context, cl.CommandQueue(context), classic, problem)
    by_hand.restore()
    by_hand.enqueue()
    check(problem, by_hand.arrays(), by_hand=True)
