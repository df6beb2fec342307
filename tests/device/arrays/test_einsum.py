"""`einsum` on a device: products of all kinds, captured for several shapes, on several streams."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as ours
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def operands(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RANDOM.standard_normal(shape).astype("f4") for shape in shapes]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", ((70, 130), (130, 90))),
        ("ji,kj->ik", ((130, 70), (90, 130))),
        ("bij,bkj->bik", ((5, 33, 65), (5, 17, 65))),
        ("bhqd,bhkd->bhqk", ((2, 3, 40, 16), (2, 3, 50, 16))),
        ("ij,jk,kl,lm->im", ((8, 200), (200, 5), (5, 100), (100, 9))),
        ("ii->i", ((200, 200),)),
        ("...ii->...", ((7, 20, 20),)),
        ("ij,ij->i", ((100, 1000), (100, 1000))),
        ("i,j,k->", ((50,), (60,), (70,))),
        ("abc,cd,...d->...ab", ((4, 5, 6), (6, 7), (3, 2, 7))),
    ],
)
def test_gives_what_numpy_gives(runtime: Runtime, text: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    hosts = operands(*shapes)
    expected = np.einsum(text, *[host.astype("f8") for host in hosts])
    with ocl.use(runtime):
        found = ours.einsum(text, *[ocl.asarray(host) for host in hosts]).numpy()
    scale = np.einsum(text, *[np.abs(host) for host in hosts])
    assert (np.abs(found - expected) <= 1e-5 * scale + 1e-30).all()


def test_a_captured_product_serves_other_shapes(runtime: Runtime) -> None:
    captured = ocl.capture(lambda a, b, c: ours.einsum("ij,jk,kl->il", a, b, c) + ours.einsum("ij->i", a)[:, None])
    with ocl.use(runtime):
        for sizes in ((6, 7, 8, 9), (16, 7, 28, 5), (31, 17, 3, 50)):
            a, b, c = operands(*pairwise(sizes))
            found = captured(ocl.asarray(a), ocl.asarray(b), ocl.asarray(c)).numpy()
            np.testing.assert_allclose(found, a @ b @ c + a.sum(1)[:, None], rtol=1e-3, atol=1e-3)


def test_in_a_loop_and_on_several_streams(runtime: Runtime) -> None:
    hosts = operands((64, 64), (64, 64))
    with ocl.use(runtime):
        a, b = (ocl.asarray(host) for host in hosts)
        parts = []
        for number in range(4):
            with ocl.stream(number):
                parts.append(ours.einsum("ij,jk->ik", a * (number + 1), b))
        for _ in range(3):
            a = ours.einsum("ij,jk->ik", a, b) / 8
    for number, part in enumerate(parts):
        np.testing.assert_allclose(part.numpy(), hosts[0] * (number + 1) @ hosts[1], rtol=1e-3, atol=1e-3)
    expected = hosts[0] @ np.linalg.matrix_power(hosts[1], 3) / 512
    np.testing.assert_allclose(a.numpy(), expected, rtol=1e-3, atol=1e-3)
