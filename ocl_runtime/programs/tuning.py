"""Tuning as users call it: the variants of every product of what is given are measured, and the fastest are used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from time import perf_counter
from typing import Any

from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import DTypeError, Error, MixedDevicesError, SettingError
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.kernels.lowering import PRODUCTS
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.variant import Problem
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.trees import flatten
from ocl_runtime.tuning.bar import Show, bar, silent
from ocl_runtime.tuning.collect import products_of
from ocl_runtime.tuning.products import engine_for_trials, tuned
from ocl_runtime.tuning.report import Report, Tuned

_LEAST_SECONDS = 0.05
"""For each product; below, nothing can be told apart."""


def tune(
    what: Any,
    /,
    *args: Any,
    seconds: float = 10,
    progress: bool | None = None,
) -> Report:
    """Measures the variants of each product of matrices, (…, m, k) by (…, k, n), that computing something takes; later
    evaluations of such products, in this process and others, use the fastest.

        a, b = ocl.ones((512, 512)), ocl.ones((512, 512))
        print(ocl.tune(a @ b, seconds=2))              # an expression
        print(ocl.tune(lambda x: x @ x.T, a))          # a function, called with arguments

    `what` is an array that is not computed yet, several in tuples, lists and dictionaries, or a function that returns
    these, which is called with `args` once; what it computes by itself is not seen. Nothing of it is computed: trials
    have operands of their own, with the same shapes, strides and dtypes. `seconds` are for all products together; a
    run that has begun is not interrupted. The result is a table. `progress` shows a bar on standard error, by default
    where that is a terminal.

    Products are told apart by dtypes, sizes and which operand is transposed; a product of other sizes is computed as
    before. Raises `DTypeError` where `what` has no array, `SettingError` for seconds that are not positive and where
    OCL_RUNTIME_TUNE is off, `MixedDevicesError` for arrays of several runtimes, `OutOfMemoryError` where the operands
    have no room once more.
    """
    if not seconds > 0:
        raise SettingError(f"tune got {seconds!r} seconds", place=calling_line(), remedy="give it some: seconds=10")
    if tracer.get() is not None:
        raise Error(
            "a captured function tunes, which is nothing that could be run again",
            place=calling_line(),
            remedy="tune outside of the captured function",
        )
    arrays, _ = flatten(what(*args) if callable(what) else (what, *args), "tune got")
    if not arrays:
        raise DTypeError("tune got no array", place=calling_line(), remedy="give it an expression that is not computed")
    executor = _executor_of(arrays)
    if not executor.settings.tune:
        raise SettingError(
            "OCL_RUNTIME_TUNE is off, so that nothing which is measured would be used",
            place=calling_line(),
            remedy="set it to on, or make the runtime with Settings(tune=True)",
        )
    products = products_of([x._node for x in arrays], executor)
    shown = sys.stderr.isatty() if progress is None else progress
    with bar() if shown else nullcontext(silent) as show:
        return _tuned(products, executor, seconds, show)


def _executor_of(arrays: Sequence[Array]) -> DeviceExecutor:
    executors = {id(executor): executor for executor in (base_executor(x._executor) for x in arrays)}
    executor = base_executor(arrays[0]._executor)
    if len(executors) > 1:
        raise MixedDevicesError(
            f"tune got arrays of {len(executors)} runtimes", place=calling_line(), remedy="tune for one after the other"
        )
    if not isinstance(executor, DeviceExecutor):
        raise MixedDevicesError(
            f"tune got arrays of {executor.device}, which is no OpenCL device",
            place=calling_line(),
            remedy="make the arrays on a Runtime",
        )
    return executor


def _tuned(products: Sequence[Contraction], executor: DeviceExecutor, seconds: float, show: Show) -> Report:
    report = Report(str(executor.device))
    if not products:
        return report
    began, choices = perf_counter(), executor.choices
    engine = engine_for_trials(executor.device, executor.settings)
    version = choices.version(PRODUCTS)
    try:
        for number, product in enumerate(products):
            left = seconds - (perf_counter() - began)
            if number and left < _LEAST_SECONDS:
                report.left_out = len(products) - number
                break
            problem = str(Problem.of(product))
            share = max(left / (len(products) - number), _LEAST_SECONDS)
            start = 1 - left / seconds

            def progress(part: float, text: str, start: float = start, share: float = share, of: str = problem) -> None:
                show(start + part * share / seconds, f"{of}: {text}")

            outcomes, operations, record = tuned(product, executor.target, engine, share, version, progress)
            kept = record is not None and choices.keep([record])
            report.append(Tuned(problem, operations, outcomes, kept))
    finally:
        engine.close()
        with executor.registry.lock:
            executor.plans.forget()
    return report
