"""What the cases are compared with. Nothing has to be installed: what is not is left out, and named.

base.py     what a peer is
ours.py     this library
by_hand.py  OpenCL C through PyOpenCL
numpy.py    NumPy
networks.py what networks compute, by NumPy
devices.py  torch, its compiler, CuPy, JAX
blas.py     CLBlast
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ocl_runtime.commands.bench.opencl import OpenCL
from ocl_runtime.commands.bench.peers.base import LeftOut, Peer, first_line, library
from ocl_runtime.commands.bench.peers.blas import CLBlast
from ocl_runtime.commands.bench.peers.by_hand import ByHand
from ocl_runtime.commands.bench.peers.devices import CuPy, Inductor, Jax, Torch
from ocl_runtime.commands.bench.peers.numpy import NumPy


def _fourier(_: OpenCL) -> Peer:
    library("pyvkfft.opencl")
    raise LeftOut("there is no Fourier transform to compare yet")


_MAKERS: dict[str, Callable[[OpenCL], Peer]] = {
    "opencl": ByHand,
    "numpy": lambda _: NumPy(),
    "torch": lambda opencl: Torch(opencl.kind),
    "inductor": lambda opencl: Inductor(opencl.kind),
    "cupy": lambda opencl: CuPy(opencl.kind),
    "jax": lambda opencl: Jax(opencl.kind),
    "clblast": CLBlast,
    "pyvkfft": _fourier,
}
NAMES = tuple(_MAKERS)


def make(names: Iterable[str], opencl: OpenCL) -> tuple[list[Peer], dict[str, str]]:
    """The peers of these names that work here, and why others do not."""
    peers, left_out = [], {}
    for name in names:
        try:
            peers.append(_MAKERS[name](opencl))
        except LeftOut as reason:
            left_out[name] = str(reason)
        except Exception as error:  # noqa: BLE001  # a library that does not work here must not end the benchmark
            left_out[name] = first_line(error)
    return peers, left_out
