"""Structs of two fields: in reductions of PyOpenCL's and of CuPy's kind, in elementwise kernels, and by hand."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import BuildError, DTypeError, Error, ShapeError, SharingError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from ocl_runtime.tools import StructArray, get_or_register_dtype, match_dtype_to_c_struct

PAIR = get_or_register_dtype("pair", np.dtype([("value", np.float32), ("index", np.int32)]))
MIXED = get_or_register_dtype("mixed", np.dtype([("flag", "?"), ("long_one", "i8"), ("tail", "i2")], align=True))
ARGMIN = ocl.ReductionKernel(
    PAIR,
    neutral="(pair){INFINITY, -1}",
    reduce_expr="a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b",
    map_expr="(pair){values[i], indices[i]}",
    arguments="const float *values, const int *indices",
    name="argmin",
)
ARGMIN_OF_ROWS = ocl.ReductionKernel(
    "float32 value, int32 index",
    "pair least",
    "(pair){value, index}",
    "a.value <= b.value ? a : b",
    "least = a",
    "(pair){INFINITY, -1}",
    "argmin_of_rows",
    structs=[PAIR],
)
NEGATED = ocl.ElementwiseKernel(
    "const pair *x, pair *y", "y[i].value = -x[i].value; y[i].index = x[i].index", "negated", structs=[PAIR]
)
HOST = np.random.default_rng(0).permutation(30_000).reshape(6, 5000).astype("f4")
INDICES = np.arange(5000, dtype="i4")


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def pairs(count: int) -> Any:
    values = np.zeros(count, PAIR)
    values["value"], values["index"] = HOST[0, :count], INDICES[:count]
    return values


# ---------------------------------------------------------------------- reductions


@pytest.mark.parametrize("size", [1, 63, 65, 4097, 30_000])
def test_the_least_of_pairs_of_two_arrays(runtime: Runtime, size: int) -> None:
    values = np.random.default_rng(size).random(size, dtype="f4")
    least = ARGMIN(ocl.asarray(values), ocl.arange(size, dtype=np.int32))
    assert isinstance(least, StructArray)
    assert (least.shape, least.ndim, least.size, least.nbytes, least.dtype) == ((), 0, 1, 8, PAIR)
    assert (least.get()["value"], least.get()["index"]) == (values.min(), values.argmin())
    assert np.asarray(least)["index"] == least.numpy()["index"]
    assert repr(least) == "<StructArray of pair, shape ()>"


@pytest.mark.parametrize("keepdims", [False, True])
def test_the_least_of_each_row(runtime: Runtime, keepdims: bool) -> None:
    least = ARGMIN_OF_ROWS(ocl.asarray(HOST), ocl.asarray(INDICES), axis=1, keepdims=keepdims)
    assert least.shape == ((6, 1) if keepdims else (6,))
    assert (least.numpy()["value"] == HOST.min(1, keepdims=keepdims)).all()
    assert (least.numpy()["index"] == HOST.argmin(1, keepdims=keepdims)).all()


def test_a_total_that_is_a_struct_and_a_result_that_is_none(runtime: Runtime) -> None:
    argmax = ocl.ReductionKernel(
        "T x", "int32 at, T largest", "(pair){x, i}", "a.value >= b.value ? a : b", "at = a.index; largest = a.value",
        "(pair){-INFINITY, -1}", reduce_type="pair", structs=[PAIR],
    )  # fmt: skip
    for host in (HOST[0], HOST.ravel()):
        at, largest = argmax(ocl.asarray(host))
        assert (int(at), float(largest)) == (host.argmax(), host.max())


def test_a_reduction_of_structs(runtime: Runtime) -> None:
    least = ocl.ReductionKernel(PAIR, "(pair){INFINITY, -1}", "a.value <= b.value ? a : b", arguments="const pair *x")
    values = pairs(4999)
    assert least(StructArray(values)).numpy()["index"] == values["value"].argmin()
    total = ocl.ReductionKernel(
        "raw pair x, int32 k", "int64 y", "x[k].index + x.size()", "a + b", "y = a", "0", structs=[PAIR]
    )
    assert int(total(StructArray(values), ocl.asarray(INDICES[:7]))) == 21 + 7 * 4999


def test_fields_that_c_pads(runtime: Runtime) -> None:
    last = ocl.ReductionKernel(
        MIXED, "(mixed){0, 0, 0}", "(mixed){a.flag | b.flag, a.long_one + b.long_one, max(a.tail, b.tail)}",
        "(mixed){x[i] > 90, (long)x[i] << 33, x[i]}", "const int *x",
    )  # fmt: skip
    result = last(ocl.arange(100, dtype=np.int32)).numpy()
    assert result.dtype == MIXED
    assert result.tolist() == (True, 4950 << 33, 99)


def test_nothing_gives_the_neutral_element(runtime: Runtime) -> None:
    nothing = ocl.zeros(0), ocl.zeros(0, dtype=np.int32)
    assert ARGMIN(*nothing).numpy().tolist() == (np.inf, -1)
    rows = ARGMIN_OF_ROWS(ocl.zeros((3, 0)), nothing[1], axis=1)
    assert rows.numpy().tolist() == [(np.inf, -1)] * 3
    assert ARGMIN_OF_ROWS(ocl.zeros((0, 3)), ocl.zeros(3, dtype=np.int32), axis=1).numpy().tolist() == []


def test_results_go_where_they_are_wanted(runtime: Runtime) -> None:
    out = StructArray(np.zeros(6, PAIR))
    assert ARGMIN_OF_ROWS(ocl.asarray(HOST), ocl.asarray(INDICES), axis=1, out=out) is out
    assert (out.numpy()["index"] == HOST.argmin(1)).all()
    with pytest.raises(ShapeError, match="an out of shape"):
        ARGMIN_OF_ROWS(ocl.asarray(HOST), ocl.asarray(INDICES), axis=0, out=out)
    with pytest.raises(DTypeError, match="for least, which takes an array of struct pair"):
        ARGMIN_OF_ROWS(ocl.asarray(HOST), ocl.asarray(INDICES), axis=1, out=ocl.zeros(6))
    with pytest.raises(DTypeError, match="an out of structs"):
        ocl.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")(ocl.asarray(HOST), axis=1, out=out)


# ---------------------------------------------------------------------- elementwise kernels and kernels by hand


def test_an_elementwise_kernel_over_structs(runtime: Runtime) -> None:
    x, y = StructArray(pairs(1000)), StructArray(np.zeros(1000, PAIR))
    NEGATED(x, y)
    assert (y.numpy()["value"] == -HOST[0, :1000]).all()
    assert (y.numpy()["index"] == INDICES[:1000]).all()
    NEGATED(y, y)
    assert (y.numpy() == pairs(1000)).all()
    NEGATED(StructArray(np.zeros(0, PAIR)), StructArray(np.zeros(0, PAIR)))
    values = ocl.zeros(1000)
    ocl.ElementwiseKernel("const pair *x, float *y", "y[i] = x[i].value", structs=[PAIR])(x, values)
    assert (values.numpy() == HOST[0, :1000]).all()


def test_an_elementwise_kernel_of_cupys_kind(runtime: Runtime) -> None:
    picked = ocl.ElementwiseKernel(
        "raw pair x, int32 at, float32 by", "float32 y", "y = x[at].value * by + x.size()", structs=[PAIR]
    )
    at = ocl.asarray(np.array([[3], [1]], "i4"))
    y = picked(StructArray(pairs(7)), at, ocl.asarray(np.array([2.0, 0.5], "f4")))
    assert (y.numpy() == HOST[0, [[3], [1]]] * np.array([2.0, 0.5], "f4") + 7).all()
    paired = ocl.ElementwiseKernel("T x", "raw pair y", "y[i] = (pair){x, i}", structs=[PAIR])
    y = paired(ocl.asarray(HOST[0, :5]), size=5)
    assert isinstance(y, StructArray)
    assert (y.numpy() == pairs(5)).all()
    out = StructArray(pairs(5)[::-1])
    paired(ocl.asarray(HOST[0, :5]), out)
    assert (out.numpy() == pairs(5)).all()
    with pytest.raises(DTypeError, match="takes struct pair for y, an element at a time"):
        ocl.ElementwiseKernel("T x", "pair y", "y.value = x", structs=[PAIR])


@pytest.mark.parametrize("type_", ["pair", "struct pair"])
def test_a_kernel_by_hand_over_structs(runtime: Runtime, type_: str) -> None:
    source = f"""
    typedef struct pair {{ float value; int index; }} pair;
    __kernel void shift(__global const {type_} *x, __global {type_} *restrict y, const int by)
    {{
        const int i = get_global_id(0);
        y[i] = x[i];
        y[i].index += by;
    }}
    """
    shift = ocl.RawKernel(source, "shift", "in x, out y")
    x, y = StructArray(pairs(100)), StructArray(np.zeros(100, PAIR))
    shift[100](x, y, 7)
    assert (y.numpy()["index"] == INDICES[:100] + 7).all()
    launch = shift[100].prepare(x, y, 9)
    launch()
    assert (y.numpy()["index"] == INDICES[:100] + 9).all()
    with pytest.raises(DTypeError, match=r"for y, which takes an array of struct pair"):
        shift[100](x, ocl.zeros(200), 7)
    other = get_or_register_dtype("other", [("value", "f4"), ("index", "i4")])
    with pytest.raises(DTypeError, match=r"array of struct other, .* for y, which points to struct pair"):
        shift[100](x, StructArray(np.zeros(100, other)), 7)


def test_results_are_arguments_of_other_kernels(runtime: Runtime) -> None:
    least = ARGMIN_OF_ROWS(ocl.asarray(HOST), ocl.asarray(INDICES), axis=1)
    y = StructArray(np.zeros(6, PAIR))
    NEGATED(least, y)
    assert (y.numpy()["value"] == -HOST.min(1)).all()


def test_copies_keep_what_they_had(runtime: Runtime) -> None:
    x = StructArray(pairs(10))
    kept, pickled = x.copy(), pickle.loads(pickle.dumps(x))
    NEGATED(x, x)
    assert (x.numpy()["value"] == -HOST[0, :10]).all()
    for other in (kept, pickled):
        assert (other.numpy() == pairs(10)).all()
        NEGATED(other, x)
    assert (x.numpy()["value"] == -HOST[0, :10]).all()


def test_arrays_of_several_axes(runtime: Runtime) -> None:
    values = pairs(12).reshape(3, 4).T
    x = StructArray(values)
    assert (x.shape, x.size) == ((4, 3), 12)
    y = StructArray(np.zeros((4, 3), PAIR))
    NEGATED(x, y)
    assert (y.numpy()["value"] == -values["value"]).all()
    assert (StructArray(values[1, 1]).shape, StructArray(values[:0]).numpy().shape) == ((), (0, 3))


def test_a_captured_function(runtime: Runtime) -> None:
    @ocl.capture
    def step(x: Any, index: Any, pairs: StructArray) -> Any:
        NEGATED(pairs, pairs)
        return ARGMIN_OF_ROWS(x * 2, index, axis=1), {"pairs": pairs}

    for rows in (3, 5, 3):
        held = StructArray(np.ones(rows, PAIR))
        host = np.random.default_rng(rows).random((rows, 200 * rows), dtype="f4")
        least, named = step(ocl.asarray(host), ocl.arange(200 * rows, dtype=np.int32), held)
        assert (least.numpy()["index"] == host.argmin(1)).all()
        assert named["pairs"].numpy().tolist() == held.numpy().tolist() == [(-1.0, 1)] * rows


# ---------------------------------------------------------------------- what does not fit


def test_layouts_of_c() -> None:
    packed = np.dtype([("flag", "i1"), ("value", "f8"), ("tail", "i1")])
    message = r"struct spread has its fields at the bytes 0, 1, 9 of 10 in NumPy, and at 0, 8, 16 of 24 in C"
    with pytest.raises(DTypeError, match=message) as caught:
        get_or_register_dtype("spread", packed)
    assert "align=True" in str(caught.value)
    fitting, declaration = match_dtype_to_c_struct(None, "spread", packed)
    assert fitting == np.dtype([("flag", "i1"), ("value", "f8"), ("tail", "i1")], align=True)
    assert "char flag;\n    double value;\n    char tail;\n} spread;" in declaration
    assert get_or_register_dtype("spread", fitting).itemsize == 24
    assert get_or_register_dtype("three", "i1, i1, i1").itemsize == 3
    with pytest.raises(DTypeError, match="has its fields at the bytes 4 of 8"):
        get_or_register_dtype("late", np.dtype({"names": ["x"], "formats": ["i4"], "offsets": [4]}))


@pytest.mark.parametrize(
    "fields",
    [
        [("x", "c8")],
        [("x", ">i4")],
        [("x", "f4", (3,))],
        [("x", [("y", "f4")])],
        [("x", "O")],
    ],
)
def test_fields_that_are_no_scalars(fields: Any) -> None:
    with pytest.raises(DTypeError, match=r"struct s has a field x of .*, which is no scalar of a device"):
        get_or_register_dtype("s", np.dtype(fields))


@pytest.mark.parametrize("name", ["float", "max", "a b", "", "1st", "x;", "größe", "float4"])
def test_names_that_c_does_not_take(name: str) -> None:
    with pytest.raises(Error, match="cannot be called"):
        get_or_register_dtype(name, PAIR)


def test_fields_that_c_does_not_take() -> None:
    with pytest.raises(Error, match="a field of pair cannot be called 'int'"):
        get_or_register_dtype("pair", [("int", "i4")])
    get_or_register_dtype("pair", [("min", "i4"), ("max", "i4")])
    with pytest.raises(DTypeError, match="no fields"):
        get_or_register_dtype("pair", np.float32)


def test_a_dtype_without_a_name() -> None:
    nameless = np.dtype([("value", "f4"), ("index", "i4")])
    with pytest.raises(DTypeError, match="has no name in C"):
        ocl.ReductionKernel(nameless, "0", "a", arguments="const float *x")
    with pytest.raises(DTypeError, match="has no name in C"):
        StructArray(np.zeros(3, nameless))


def test_structs_that_are_not_known(runtime: Runtime) -> None:
    declaration = match_dtype_to_c_struct(None, "other", [("x", "f4")])[1]
    with pytest.raises(DTypeError, match="takes other for x"):
        ocl.ReductionKernel(PAIR, "0", "a", arguments="const other *x", preamble=declaration)
    with pytest.raises(DTypeError, match="takes other for x"):
        ocl.ScanKernel(np.int32, "a", arguments="const other *x", preamble=declaration, input_expr="0")
    with pytest.raises(DTypeError, match="takes struct pair for x, an element at a time"):
        ocl.ReductionKernel("pair x", "pair y", "x", "a", "y = a", "x", structs=[PAIR])


def test_a_declaration_of_the_user_of_another_size(runtime: Runtime) -> None:
    preamble = "typedef struct { double value; int index; } pair;"
    least = ocl.ReductionKernel(PAIR, "(pair){0, 0}", "a", "(pair){x[i], i}", "const float *x", preamble=preamble)
    with pytest.raises(BuildError):
        least(ocl.zeros(3))


def test_no_copy_is_not_to_be_had(runtime: Runtime) -> None:
    with pytest.raises(SharingError, match="without a copy"):
        np.asarray(StructArray(pairs(3)), copy=False)
