"""Libraries with arrays of their own on a device: torch, its compiler, CuPy and JAX. None has to be there.

On a GPU they are timed by the device's events. Before, the device is given something else to do, so that it never waits
for the host, as long as the host need not know anything in between. JAX has no events: the host's clock is its.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.bfloat16 import HELD, shown
from ocl_runtime.commands.bench.case import Arrays, Case, Expression, as_tuple
from ocl_runtime.commands.bench.peers.base import LeftOut, Names, Value, library
from ocl_runtime.commands.bench.samples import Sample

_FILLER, _FILLED = 2**26, 8
"""Elements of what the device is busy with before a measurement, and how often it walks over them."""

Results = Callable[[], Any]


class OnDevice:
    """An expression over uploaded inputs. `timed` runs it on the device's clock, seconds; None where there is none."""

    def __init__(
        self,
        run: Callable[..., Any],
        sets: list[Arrays],
        finish: Callable[[Any], object],
        timed: Callable[[Results], float] | None,
        numpy: Callable[[Any], np.ndarray],
    ) -> None:
        self._run, self._sets, self._finish, self._timed, self._numpy = run, sets, finish, timed, numpy

    def _results(self, turn: int) -> Any:
        return self._run(*self._sets[turn % len(self._sets)])

    def time(self, turn: int) -> Sample:
        """On the host's clock, and then once more on the device's."""
        start = time.perf_counter()
        self._finish(self._results(turn))
        wall = time.perf_counter() - start
        if self._timed is None:
            return Sample(wall)
        device = self._timed(lambda: self._results(turn + 1))
        return Sample(wall, device, device)

    def results(self, turn: int) -> tuple[Value, ...]:
        """They are downloaded when they are looked at."""
        return tuple(Value.of(x, self._numpy) for x in as_tuple(self._results(turn)))


class Torch:
    """PyTorch on the GPU that it finds, or on the CPU."""

    name = "torch"

    def __init__(self, kind: str) -> None:
        self._torch = torch = library("torch")
        torch.set_float32_matmul_precision("highest")  # no product of float32 in fewer bits
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True  # of all ways to convolve, the fastest
        self._device, self._module = _torch_device(torch, kind)
        where = "the CPU" if self._module is None else self._module.get_device_name(0)
        self.about = f"PyTorch {torch.__version__} on {where}"
        self.clock = "the host's clock, to the end" if self._module is None else "the device's events"
        self._filler: Any = None if self._module is None else torch.zeros(_FILLER, device=self._device)
        self._names = Names(
            torch,
            max=lambda x, axis=None, keepdims=False: x.max() if axis is None else torch.amax(x, axis, keepdims),
            transpose=torch.permute,
            fma=lambda a, b, c: a * b + c,
        )

    def prepare(self, case: Case, sets: list[Arrays]) -> OnDevice:
        """Uploads the inputs."""
        made = [tuple(self._uploaded(x) for x in inputs) for inputs in sets]
        if "torch" in case.before:
            made = [case.before["torch"](self._names, *inputs) for inputs in made]
        expression = case.own.get("torch", case.expression)
        run = self._made(lambda *inputs: expression(self._names, *inputs))
        timed = None if self._module is None else self._seconds
        return OnDevice(run, made, self._finish, timed, self._downloaded)

    def _downloaded(self, x: Any) -> np.ndarray:
        return np.asarray((x.float() if x.dtype is self._torch.bfloat16 else x).cpu().numpy())

    def _uploaded(self, x: np.ndarray) -> Any:
        on_host = self._torch.from_numpy(x.view(np.int16) if x.dtype == HELD else x)
        if x.dtype == HELD:
            on_host = on_host.view(self._torch.bfloat16)
        return on_host.clone() if self._module is None else on_host.to(self._device)

    def _made(self, run: Expression) -> Expression:
        return run

    def _finish(self, _: Any) -> None:
        if self._module is not None:
            self._module.synchronize()

    def _seconds(self, run: Results) -> float:
        start, end = (self._module.Event(enable_timing=True) for _ in range(2))
        for _ in range(_FILLED):
            self._filler.add_(1)
        start.record()
        found = run()
        end.record()
        self._module.synchronize()
        del found
        return float(start.elapsed_time(end)) * 1e-3


def _torch_device(torch: Any, kind: str) -> tuple[str, Any]:
    """The name of torch's device for an OpenCL device of some kind, and the module that has its events."""
    if kind == "cpu":
        return "cpu", None
    for name in ("cuda", "xpu"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            return name, module
    raise LeftOut(f"PyTorch {torch.__version__} finds no GPU")


class Inductor(Torch):
    """Expressions through torch's compiler."""

    name = "inductor"

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.about = f"torch.compile, {self.about}"

    def _made(self, run: Expression) -> Expression:
        self._torch._dynamo.reset()
        compiled: Expression = self._torch.compile(run, dynamic=False)
        return compiled


class CuPy:
    """CuPy, on GPUs of NVIDIA and AMD."""

    name = "cupy"
    clock = "the device's events"

    def __init__(self, kind: str) -> None:
        if kind == "cpu":
            raise LeftOut("for GPUs only")
        self._cupy = cupy = library("cupy")
        try:
            about = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
            self._filler = cupy.zeros(_FILLER, np.float32)
        except Exception as error:  # noqa: BLE001
            raise LeftOut(f"CuPy {cupy.__version__} finds no GPU: {error}") from None
        self.about = f"CuPy {cupy.__version__} on {about}"
        self._names = Names(
            cupy,
            erf=lambda x: library("cupyx.scipy.special").erf(x),
            rsqrt=lambda x: 1 / cupy.sqrt(x),
            fma=lambda a, b, c: a * b + c,
            add_at=cupy.add.at,
        )

    def prepare(self, case: Case, sets: list[Arrays]) -> OnDevice:
        """Uploads the inputs."""
        if any(x.dtype == HELD for x in sets[0]):
            raise LeftOut("no bfloat16")
        made = [tuple(self._cupy.array(x) for x in inputs) for inputs in sets]
        expression = case.own.get("cupy", case.expression)
        return OnDevice(
            lambda *inputs: expression(self._names, *inputs),
            made,
            lambda _: self._cupy.cuda.Device().synchronize(),
            self._seconds,
            self._cupy.asnumpy,
        )

    def _seconds(self, run: Results) -> float:
        cuda = self._cupy.cuda
        start, end = cuda.Event(), cuda.Event()
        for _ in range(_FILLED):
            self._filler += 1
        start.record()
        found = run()
        end.record()
        end.synchronize()
        del found
        return float(cuda.get_elapsed_time(start, end)) * 1e-3


class Jax:
    """JAX, each expression compiled by `jit`."""

    name = "jax"
    clock = "the host's clock, to the end"

    def __init__(self, kind: str) -> None:
        self._jax = jax = library("jax")
        jax.config.update("jax_enable_x64", True)  # else it makes float32 of float64
        jax.config.update("jax_default_matmul_precision", "highest")  # no product of float32 in fewer bits
        devices = [device for device in jax.devices() if (device.platform == "cpu") == (kind == "cpu")]
        if not devices:
            raise LeftOut(f"JAX {jax.__version__} finds no {kind.upper()}")
        self._device = devices[0]
        self.about = f"JAX {jax.__version__} on {self._device.device_kind}"
        self._names = Names(
            library("jax.numpy"),
            erf=jax.scipy.special.erf,
            rsqrt=jax.lax.rsqrt,
            fma=lambda a, b, c: a * b + c,
        )

    def prepare(self, case: Case, sets: list[Arrays]) -> OnDevice:
        """Uploads the inputs. Raises `LeftOut` for what needs a length that is not known before."""
        if case.asks:
            raise LeftOut("jit has no results of unknown length")
        made = [tuple(self._jax.device_put(shown(x), self._device) for x in inputs) for inputs in sets]
        expression = case.own.get("jax", case.expression)
        run = self._jax.jit(lambda *inputs: expression(self._names, *inputs))
        return OnDevice(run, made, self._jax.block_until_ready, None, np.asarray)
