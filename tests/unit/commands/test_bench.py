"""ocl-bench without a device: samples, the table, JSON, comparisons, pictures, and the command line."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ocl_ir.bfloat16 import HELD, floats_of
from ocl_runtime.commands.bench import compare, peers, pictures, record, report
from ocl_runtime.commands.bench.case import DTYPES, Case
from ocl_runtime.commands.bench.cases import CASES, GROUPS, attention, convolutions, products
from ocl_runtime.commands.bench.cases.attention import Heads
from ocl_runtime.commands.bench.cases.convolutions import Layer
from ocl_runtime.commands.bench.cases.products import Sizes
from ocl_runtime.commands.bench.ceilings import Ceiling
from ocl_runtime.commands.bench.command import _chosen, _peers, main
from ocl_runtime.commands.bench.data import SPREADS, Data
from ocl_runtime.commands.bench.measure import Result, Session, Timing
from ocl_runtime.commands.bench.peers.base import Value
from ocl_runtime.commands.bench.peers.numpy import names
from ocl_runtime.commands.bench.record import Compared
from ocl_runtime.commands.bench.samples import Sample, Summary
from ocl_runtime.commands.bench.verify import Reference, WrongResult
from ocl_runtime.errors import InputFileError
from tests.support import convolution_reference
from tests.support.pictures import NASTY, SVG, groups, rect, title

F32 = np.dtype(np.float32)
CASE = {case.key: case for case in CASES}


def timing(*milliseconds: float, clock: Any = "device") -> Timing:
    return Timing(clock, tuple(Sample(each * 2e-3, each * 1e-3, each * 1.5e-3) for each in milliseconds))


def result(key: str = "a*b+c", ours: tuple[float, ...] = (1.0, 1.1, 1.2), **more: Any) -> Result:
    made = Result(key, CASE[key].title, "f32", 2**20, [[2**20]] * 3, moved=2**24, operations=2.0**21, verified="all")
    made.ceiling = Ceiling("copy", 2**24 / 1e-3, 1e-3)
    made.timings = {"ocl": timing(*ours), "numpy": timing(2.2, clock="wall")}
    return dataclasses.replace(made, **more)


def run(*results: Result, name: str = "a card") -> record.Run:
    device = {"name": name, "vendor": "v", "platform": "p", "driver": "1", "kind": "gpu", "compute units": 8}
    device |= {"memory": 2**33, "host": "Linux x86_64"}
    peers = {"numpy": {"about": "NumPy 2", "clock": "the host's clock"}}
    return record.Run(device, "2026-01-02T03:04:05+00:00", {"python": "3"}, peers, {"torch": "not installed"}, results)


def fetched(*arrays: np.ndarray) -> tuple[Value, ...]:
    return tuple(map(Value.of, arrays))


# ---------------------------------------------------------------------- samples


def test_time_when_several_commands_run_counts_once() -> None:
    sample = Sample.of([(100, 200), (150, 250), (400, 500), (420, 430)], 1.0)
    assert sample.device == pytest.approx(250e-9)
    assert sample.span == pytest.approx(400e-9)
    assert (sample.on("wall"), sample.on("span")) == (1.0, sample.span)


def test_a_clock_that_is_not_there_is_the_hosts() -> None:
    sample = Sample.of([], 0.5)
    assert (sample.has("device"), sample.on("device"), sample.has("wall")) == (False, 0.5, True)


def test_medians_and_quartiles() -> None:
    assert Summary.of([3.0, 1.0, 2.0]) == Summary(2.0, 1.0, 3.0, 3)
    summary = Summary.of([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (summary.median, summary.low, summary.high, summary.spread) == (3.0, 2.0, 4.0, 2.0)


# ---------------------------------------------------------------------- inputs and references


def test_inputs_are_fresh_and_of_the_range_that_was_asked_for() -> None:
    data = Data(1)
    one, other = (data.real(F32, 100, 100, low=0.5, high=2.0) for _ in range(2))
    assert (one.shape, one.dtype) == ((100, 100), F32)
    assert not np.array_equal(one, other)
    assert 0.5 <= one.min() < 0.6
    assert 1.9 < one.max() <= 2.0
    assert np.unique(data.real(np.dtype("i4"), 1000, low=2, high=5)).tolist() == [2, 3, 4]


def test_indices_are_spread_as_they_are_called() -> None:
    found = {spread: Data(2).indices(10_000, 500, spread) for spread in SPREADS}
    assert all(index.min() >= 0 and index.max() < 500 for index in found.values())
    assert np.unique(found["constant"]).size == 1
    assert (np.diff(found["sorted"]) >= 0).all()
    assert (np.diff(found["random"]) < 0).any()
    assert np.bincount(found["skewed"]).max() > 20 * np.bincount(found["random"]).max()


@pytest.mark.parametrize("key", ["a*b+c", "softmax-64", "sum-all", "every-second", "k-means"])
def test_a_wrong_element_is_found(key: str) -> None:
    case = CASE[key]
    inputs = case.inputs(Data(3), 2**12, F32)
    reference = Reference(case, inputs)
    right = [np.array(x, F32) if x.dtype.kind == "f" else x for x in reference._results[0]]
    reference.check(fetched(*right))
    wrong = np.array(right[0])
    wrong.reshape(-1)[wrong.size // 2] += 1 + 0.01 * abs(wrong.reshape(-1)[wrong.size // 2])
    with pytest.raises(WrongResult):
        reference.check(fetched(wrong, *right[1:]))
    with pytest.raises(WrongResult, match="shape"):
        reference.check(fetched(wrong[..., None], *right[1:]))


def test_of_a_large_result_three_parts_are_checked() -> None:
    case = CASE["a*b+c"]
    inputs = case.inputs(Data(4), 2**21, F32)
    reference = Reference(case, inputs)
    assert not reference.whole
    right = inputs[0] * inputs[1] + inputs[2]
    reference.check(fetched(right))
    for place in (0, 2**20, 2**21 - 1):
        wrong = right.copy()
        wrong[place] = np.nan
        with pytest.raises(WrongResult):
            reference.check(fetched(wrong))


def test_rows_that_share_one_of_another_input_are_checked_together() -> None:
    case, rng = CASE["attention-grouped-f16"], np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape).astype(F32) for shape in ((32, 256, 256), (8, 256, 256), (8, 256, 256)))
    reference = Reference(case, (q, k, v))
    assert reference._parts == [(0, 4), (16, 20), (28, 32)]
    right = names().attention(q, k, v, causal=True)
    reference.check(fetched(right))
    for head in (0, 19, 28):
        wrong = right.copy()
        wrong[head] = right[head - 4]  # of other keys
        with pytest.raises(WrongResult):
            reference.check(fetched(wrong))


def test_who_races_may_write_any_value_of_a_place_and_nothing_else() -> None:
    case = CASE["write-random"]
    inputs = case.inputs(Data(5), 2**12, F32)
    before, index, values = inputs
    reference = Reference(case, inputs)
    backwards = before.copy()
    backwards[index[::-1]] = values[::-1]
    last = before.copy()
    last[index] = values
    assert not np.array_equal(backwards, last)
    reference.check(fetched(last))
    reference.check(fetched(backwards), ordered=False)
    with pytest.raises(WrongResult):
        reference.check(fetched(backwards))
    for place, value in ((index[0], -1.0), (np.setdiff1d(np.arange(2**12), index)[0], 5.0), (index[0], 1e6)):
        wrong = last.copy()
        wrong[place] = value
        with pytest.raises((WrongResult, IndexError)):
            reference.check(fetched(wrong), ordered=False)


def test_a_largest_element_may_be_named_by_any_of_its_places_where_there_is_no_order() -> None:
    case = CASE["argmax-all"]
    x = np.zeros((8, 8), F32)
    x[2, 2] = x[5, 5] = 1
    reference = Reference(case, (x,))
    reference.check(fetched(np.array(2 * 8 + 2)))
    reference.check(fetched(np.array(5 * 8 + 5)), ordered=False)
    for place, ordered in ((5 * 8 + 5, True), (0, False)):
        with pytest.raises(WrongResult):
            reference.check(fetched(np.array(place)), ordered=ordered)


@pytest.mark.parametrize("key", ["matmul-4096", "matmul-tall-turned", "matmul-batch-64", "matmul-mask"])
def test_of_a_large_product_some_rows_are_checked(key: str) -> None:
    case = CASE[key]
    inputs = case.inputs(Data(6), 2**21, F32)
    reference = Reference(case, inputs)
    assert not reference.whole
    right = np.asarray(case.expression(np, *inputs))
    reference.check(fetched(right))
    for row in (0, len(right) // 4 * 2, len(right) - 1):
        wrong = right.copy()
        wrong[row, ..., -1] += 1
        with pytest.raises(WrongResult):
            reference.check(fetched(wrong))


def test_bfloat16_comes_as_its_bits_and_is_compared_as_numbers() -> None:
    case = CASE["matmul-1024-bf16"]
    inputs = case.inputs(Data(7), 2**13, HELD)
    assert {x.dtype for x in inputs} == {HELD}
    a, b = (floats_of(x.view(np.uint16)) for x in inputs)
    reference = Reference(case, inputs)
    reference.check(fetched(a @ b))
    with pytest.raises(WrongResult):
        reference.check(fetched((a @ b) * np.float32(1.1)))


# ---------------------------------------------------------------------- cases


def test_every_case_has_a_name_of_its_own_and_a_home() -> None:
    assert len(CASE) == len(CASES) == sum(map(len, GROUPS.values()))
    for case in CASES:
        assert case.key == case.key.strip()
        assert " " not in case.key
        assert case.dtypes
        assert set(case.dtypes) <= set(DTYPES)
        assert 10 <= min(case.cpu, case.gpu) <= max(case.cpu, case.gpu) <= 28
        assert case.ceiling in {"copy", "read"}


@pytest.mark.parametrize(
    ("key", "each"),
    [("a*b+c", 16), ("sum-last", 4), ("softmax-64", 8), ("write-random", 16), ("increase-random", 20), ("odd-view", 8)],
)
def test_bytes_are_counted_once(key: str, each: int) -> None:
    case: Case = CASE[key]
    inputs = case.inputs(Data(6), 2**16, F32)
    outputs = Reference(case, inputs)._results[0]
    moved = case.moved(inputs, tuple(x.astype(F32) for x in outputs))
    assert moved == pytest.approx(each * 2**16, rel=0.02)


def test_products_are_of_the_sizes_of_their_titles_and_keep_what_is_odd_when_there_are_fewer() -> None:
    for case in products.CASES:
        for elements in (2**10, 2**16):
            inputs = case.inputs(Data(8), elements, DTYPES[case.dtypes[0]])
            shape = case.expression(names(), *(np.broadcast_to(F32.type(0), x.shape) for x in inputs)).shape
            assert math.prod(shape) > 0
            assert case.work(inputs) >= 2 * math.prod(shape)
    odd = Sizes(2047, 2048, 2049)
    assert str(odd.scaled(2**odd.default)) == "2047 × 2048 × 2049"
    assert str(odd.scaled(2 ** (odd.default - 2))) == "1023 × 1024 × 1025"
    assert (
        str(odd.scaled(2 ** (odd.default + 2))) == "4087 × 4096 × 4097"
    )  # one product still, as its parts are checked
    batch = Sizes(512, 512, 512, 64)
    assert str(batch.scaled(2**batch.default // 8)) == "8 of 512³"
    for sizes in (Sizes(3, 5, 7, turned="ab"), Sizes(3, 5, 7, 2, "a"), Sizes(3, 5, 7, 4, "b", shared=True)):
        assert sizes.of(tuple(map(np.empty, sizes.shapes()))) == sizes


def test_torch_gets_what_its_users_write() -> None:
    for case in (CASE["matmul-gelu"], CASE["matmul-softmax"], *attention.CASES, *convolutions.CASES):
        assert "torch" in case.own
        assert ("torch" in case.before) == ("gradients" in case.key)


def test_heads_shrink_batches_first_then_heads_then_rows() -> None:
    assert str(Heads(16, 4096, 128)) == "16 × 4096 × 128"
    batches = Heads(16, 2048, 64, batch=4, causal=True)
    assert str(batches.scaled(2**batches.default)) == "4 × 16 × 2048 × 64, causal"
    assert str(batches.scaled(2**batches.default // 8)) == "1 × 8 × 2048 × 64, causal"
    grouped = Heads(32, 4096, 128, key_heads=8)
    assert str(grouped.scaled(2**grouped.default // 4)) == "8 × 4096 × 128, 2 key heads"
    assert str(grouped.scaled(2**grouped.default // 16)) == "4 × 2048 × 128, 1 key heads"
    odd = Heads(2, 1003, 64)
    assert str(odd.scaled(2**odd.default // 4)) == "1 × 499 × 64"
    for heads in (batches, grouped, odd):
        of_queries, of_keys = heads.shapes()
        assert heads.of((np.empty(of_queries), np.empty(of_keys), np.empty(of_keys))) == heads
        assert heads.elements == math.prod(of_queries) + 2 * math.prod(of_keys)
    for heads in (batches, grouped, odd, Heads(16, 4096, 128)):
        assert heads.scaled(2**heads.cpu).operations <= 2**31


def test_layers_shrink_batches_first_then_pictures() -> None:
    layer = Layer(128, 64, 56, 3, 2)
    assert str(layer.scaled(2**layer.default)) == "3×3/2, 128 → 64 at 56², batch 32"
    assert str(layer.scaled(2**layer.default // 8)) == "3×3/2, 128 → 64 at 56², batch 4"
    assert str(layer.scaled(2**layer.default // 128)) == "3×3/2, 128 → 64 at 28², batch 1"
    assert layer.operations == 2 * 32 * 64 * 28**2 * 128 * 9
    last = CASE["conv-56-3x3-last-f16"]
    assert [x.shape for x in last.inputs(Data(), 2**15, F32)] == [(1, 20, 20, 64), (64, 3, 3, 64)]
    assert last.sized is not None
    assert last.sized(last.inputs(Data(), 2**15, F32)) == "conv 3×3, 64 → 64 at 20², batch 1, channels last"


def test_networks_by_numpy_are_what_their_definitions_say() -> None:
    """With derivatives by differences, and sums window by window."""
    rng, xp = np.random.default_rng(0), names()
    q, k, v = (rng.standard_normal(shape) for shape in ((4, 5, 3), (2, 5, 3), (2, 5, 3)))
    gradient, step = rng.standard_normal(q.shape), 1e-6
    for causal in (False, True):
        seen = np.tri(5, dtype=bool) if causal else np.ones((5, 5), bool)
        powers = np.exp(q @ np.repeat(k, 2, axis=0).mT / math.sqrt(3)) * seen
        expected = powers / powers.sum(axis=-1, keepdims=True) @ np.repeat(v, 2, axis=0)
        np.testing.assert_allclose(xp.attention(q, k, v, causal=causal), expected)
        np.testing.assert_allclose(xp.attention(q, k, v, mask=seen), expected)
        found = xp.attention_gradients(q, k, v, gradient, causal=causal)
        for i, by in enumerate(found):
            for place in ((0, 0, 0), (1, 3, 2), (-1, -1, -1)):
                moved = [x.copy() for x in (q, k, v)]
                moved[i][place] += step
                above = xp.attention(*moved, causal=causal)
                moved[i][place] -= 2 * step
                slope = np.sum((above - xp.attention(*moved, causal=causal)) * gradient) / (2 * step)
                np.testing.assert_allclose(by[place], slope, rtol=1e-6, atol=1e-8)
    for kernel, stride, padding in ((3, 1, 1), (1, 1, 0), (7, 2, 3), (3, 2, 1)):
        x, w = rng.standard_normal((2, 3, 9, 9)), rng.standard_normal((4, 3, kernel, kernel))
        right = convolution_reference.conv(x, w, (stride, stride), [(padding, padding)] * 2, (1, 1))
        np.testing.assert_allclose(xp.conv(x, w, stride=stride, padding=padding), right, atol=1e-12)


# ---------------------------------------------------------------------- the table


def test_the_table_has_shares_of_the_ceiling_and_ratios() -> None:
    head, line = report.table(run(result()))
    cells = dict(zip(head, line, strict=True))
    assert (cells["case"], cells["elements"], cells["dtype"]) == ("a*b + c", "2^20", "f32")
    assert cells["time"] == "1.1 ms"
    assert cells["%"] == "91%"
    assert cells["reached"] == "15.3 GB/s"
    assert cells["× numpy"] == f"{4.4 / 1.1:.2f}"  # NumPy's clock is the host's
    assert cells["best"] == "400%"


def test_products_by_instructions_without_a_ceiling_show_what_they_reach() -> None:
    made = result("matmul-4096", ceiling=None, operations=2.0 * 4096**3)
    head, line = report.table(run(made))
    cells = dict(zip(head, line, strict=True))
    assert (cells["reached"], cells["ceiling"], cells["%"]) == ("124945 GFLOP/s", "", "")
    assert made.of_best == 4.0
    assert report.outcome(made).endswith("1.1 ms, 400% of the fastest peer")
    for svg in (pictures.bars(run(made)), pictures.roofline(run(made), {"float": 1e12})):
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"


def test_what_was_left_out_is_named_with_its_reason() -> None:
    missing = Result("copy", "x[mask]", "f64", 1000, [], left_out={"ocl": "the device does not compute f64"})
    stream = io.StringIO()
    report.show(run(result(left_out={"cupy": "wrong: 3 elements"}), missing), stream)
    text = stream.getvalue()
    assert "torch: left out, not installed" in text
    assert "x[mask], f64, 1000: the device does not compute f64" in text
    assert "cupy is not timed, wrong: 3 elements" in text
    assert text.count("x[mask]") == 1  # not in the table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_same_cells_with_and_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    found = []
    for here in (report.has_rich(), False):
        monkeypatch.setattr(report, "has_rich", lambda here=here: here)
        stream, errors = Terminal(), Terminal()
        report.show(run(result()), stream)
        with report.progress(2, errors) as (before, after):
            before("one [of two]")
            after("one")
        found.append(stream.getvalue().split())
        assert bool(errors.getvalue()) or here
    for cell in report.table(run(result()))[1]:
        assert all(set(cell.split()) <= set(words) for words in found)


@pytest.mark.parametrize(
    ("value", "text"), [(1.5, "1.5 s"), (0.25, "250 ms"), (1e-3, "1 ms"), (12.34e-6, "12.3 µs"), (5e-8, "0.05 µs")]
)
def test_times_in_the_unit_that_suits_them(value: float, text: str) -> None:
    assert report.seconds(value) == text


# ---------------------------------------------------------------------- JSON and comparisons


def written(tmp_path: Path, *results: Result, name: str = "a card") -> Path:
    path = tmp_path / "old.json"
    path.write_text(record.as_json(run(*results, name=name)), encoding="utf-8")
    return path


def test_json_has_everything_and_is_read_back(tmp_path: Path) -> None:
    path = written(tmp_path, result(), Result("x", "x", "f32", 8, [], left_out={"ocl": "no memory"}))
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["format"], found["device"]["name"], found["peers_left_out"]) == (
        1,
        "a card",
        {"torch": "not installed"},
    )
    (case, left_out) = found["cases"]
    assert left_out["left_out"] == {"ocl": "no memory"}
    assert case["of_ceiling"] == pytest.approx(1 / 1.1)
    assert len(case["timings"]["ocl"]["samples"]) == 3
    assert case["timings"]["ocl"]["samples"][0] == {"wall": 2e-3, "device": 1e-3, "span": 1.5e-3}
    earlier = record.read(path)
    assert earlier.cases == {("a*b+c", "f32", 2**20): Compared(result().timings["ocl"].summary, None)}


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', '{"format": 1, "cases": [{}]}'])
def test_what_is_no_earlier_run_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "no.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputFileError, match=r"no\.json cannot be read as an earlier run"):
        record.read(path)
    with pytest.raises(InputFileError):
        record.read(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ((1.0, 1.0, 1.0, 1.0), (1.2, 1.2, 1.2, 1.2), "slower"),
        ((1.2, 1.2, 1.2, 1.2), (1.0, 1.0, 1.0, 1.0), "faster"),
        ((1.0, 1.0, 1.0, 1.0), (1.005, 1.005, 1.005, 1.005), ""),  # no clock tells them apart
        ((0.8, 0.9, 1.1, 1.3), (1.1, 1.1, 1.1, 1.1), ""),  # the old times were spread as far
        ((1.0, 1.0, 1.0, 1.0), (0.9, 1.0, 1.2, 1.4), ""),  # the new ones are
    ],
)
def test_slower_is_what_takes_longer_by_more_than_its_spread(
    tmp_path: Path, old: tuple[float, ...], new: tuple[float, ...], verdict: str
) -> None:
    earlier = record.read(written(tmp_path, result(ours=old)))
    (change,) = compare.changes(run(result(ours=new)), earlier)
    assert change.verdict == verdict
    assert change.ratio == pytest.approx(np.median(new) / np.median(old))


def test_a_case_is_slower_only_if_it_is_beside_a_copy_of_its_own_run_too(tmp_path: Path) -> None:
    def beside(ours: float, copy: float) -> Result:
        return result(ours=(ours,) * 4, ceiling_samples=tuple(Sample(9.0, copy) for _ in range(4)))

    earlier = record.read(written(tmp_path, beside(1.0, 2e-3)))
    for now, verdict in (
        (beside(2.0, 2e-3), "slower"),
        (beside(2.0, 4e-3), ""),  # the whole machine takes twice as long
        (beside(1.0, 1e-3), ""),
        (beside(0.5, 2e-3), "faster"),
    ):
        (change,) = compare.changes(run(now), earlier)
        assert change.verdict == verdict


def test_only_what_both_have_is_compared(tmp_path: Path) -> None:
    earlier = record.read(written(tmp_path, result(size=2**10), result("sum-all"), name="another card"))
    now = run(result(), result("sum-all", (9.0,)))
    (change,) = compare.changes(now, earlier)
    assert change.title.startswith(CASE["sum-all"].title)
    text = "\n".join(compare.lines([change], now, earlier))
    assert "the devices differ" in text
    assert "1 of 1 cases are slower" in text


# ---------------------------------------------------------------------- pictures


def test_bars_are_as_long_as_the_share_of_the_ceiling() -> None:
    svg = pictures.bars(run(result(), result("sum-all", (2.0,)), name=NASTY))
    shapes = groups(svg, "case")
    one, other = (rect(shapes[f"case-{index}"]) for index in range(2))
    assert (one[2] - one[0]) / (other[2] - other[0]) == pytest.approx(2.0 / 1.1, rel=1e-3)
    assert "numpy: 4.4 ms" in title(shapes["case-0"])


def test_cases_lie_under_the_roofline() -> None:
    svg = pictures.roofline(run(result(), result("sum-all", (0.5,)), name=NASTY), {"float": 1e12})
    shapes = groups(svg, "case")
    high, low = rect(shapes["case-1"]), rect(shapes["case-0"])
    assert high[1] < low[1]  # twice as fast
    assert high[0] == low[0]  # the same operations for each byte
    lines = [line for line in ElementTree.fromstring(svg).iter(f"{SVG}line") if line.get("class") == "bound"]
    assert [title(line) for line in lines] == [f"memory: {2**24 / 1e-3 / 1e9:.0f} GB/s", "float: 1 T/s"]
    slope = lines[0]
    (x1, y1), (x2, y2) = ((float(slope.get(f"x{end}", "")), float(slope.get(f"y{end}", ""))) for end in (1, 2))
    at = y1 + (y2 - y1) * ((low[0] + low[2]) / 2 - x1) / (x2 - x1)
    slow, fast = ((place[1] + place[3]) / 2 for place in (low, high))
    assert (slow - at) / (slow - fast) == pytest.approx(math.log(1.1) / math.log(1.1 / 0.5), rel=0.01)


def test_numbers_of_points_do_not_lie_on_each_other() -> None:
    svg = pictures.roofline(run(result(), result("sum-all"), result("sum-first", (0.1,))), {"float": 1e12})
    shapes = groups(svg, "case")
    assert [shape.findtext(f"{SVG}text") for shape in shapes.values()] == ["1", None, "3"]
    assert [title(shape).split(",")[0] for shape in shapes.values()] == ["a*b + c", "sum", "sum"]


def test_a_run_without_cases_gives_pictures_too() -> None:
    for svg in (pictures.bars(run()), pictures.roofline(run(), {})):
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"


# ---------------------------------------------------------------------- the command line


def test_the_list_has_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [*(case.key for case in CASES), "build-chain"]
    assert main(["--list", "conv", "power-2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    chosen = {"power-2", *(case.key for case in GROUPS["conv"])}
    assert [line.split()[0] for line in lines[1:]] == [case.key for case in CASES if case.key in chosen]


def test_cases_come_in_the_order_of_their_names() -> None:
    found = [case.key for case in _chosen(["sum-l*", "movement", "power-2", "sum-last"]) if case is not None]
    assert found == ["sum-last", *(case.key for case in GROUPS["movement"]), "power-2"]
    assert _chosen(None) == [*CASES, None]


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("a*b+c", ["a*b+c"]),  # neither what it matches nor what begins so
        ("a*b+c*", ["a*b+c", "a*b+c-halves"]),
        ("softmax-1?24", ["softmax-1024"]),
        ("sum-r", [f"sum-rows-{width}" for width in (33, 64, 128, 256)]),
        ("mask", ["mask-half", "mask-few", "mask-odd"]),
        ("movement", [case.key for case in GROUPS["movement"]]),
    ],
)
def test_a_name_wins_over_patterns_and_these_over_beginnings(pattern: str, keys: list[str]) -> None:
    assert [case.key for case in _chosen([pattern]) if case is not None] == keys


def test_names_stand_alone_or_behind_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert [case.key for case in _chosen(["matmul"]) if case is not None] == [case.key for case in products.CASES]
    with pytest.raises(SystemExit):
        main(["matmul", "nosuchcase"])
    assert "no case is called nosuchcase" in capsys.readouterr().err


def test_peers_are_named_or_taken_out() -> None:
    assert _peers("none") == []
    assert _peers("torch, numpy") == ["torch", "numpy"]
    assert set(peers.NAMES) - set(_peers("-numpy,-jax")) == {"numpy", "jax"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "2^9"], "2^9 is not between 2^10 and 2^28"),
        (["--sizes", "2^29"], "2^29 is not between"),
        (["--sizes", "many"], "expected numbers such as 2^20, not 'many'"),
        (["--sizes", "2048,2^"], "expected numbers such as 2^20, not '2^'"),
        (["--sizes", "2^20^2"], "expected numbers such as 2^20, not '2^20^2'"),
        (["--sizes", "9^999999999"], "expected numbers such as 2^20, not '9^999999999'"),
        (["--dtypes", "f32,f33"], "'f33' is none of"),
        (["--peers", "torch,fortran"], "'fortran' is none of"),
        (["--peers", "none,numpy"], "'none' stands alone: --peers none"),
        (["--rounds", "0"], "expected a whole number of rounds"),
        (["--cases", "nonsense"], "no case is called nonsense: --list shows their names"),
        (["--cases", "softmax-64", "nosuchcase"], "no case is called nosuchcase: --list shows their names"),
    ],
)
def test_a_wrong_command_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


class Counted:
    """Takes a millisecond, and says when."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.turns: list[int] = []

    def time(self, turn: int) -> Sample:
        self.begun.append(time.perf_counter())
        self.turns.append(turn)
        time.sleep(1e-3)
        return Sample(len(self.turns))


@pytest.mark.parametrize(("kind", "least"), [("gpu", 0.0), ("cpu", 0.039)])
def test_what_counts_is_the_last_time_when_threads_are_awake(kind: str, least: float) -> None:
    """On a GPU, which waits for the host here, that is the second one."""
    capabilities = SimpleNamespace(kind=kind)
    ours: Any = SimpleNamespace(runtime=SimpleNamespace(device=SimpleNamespace(capabilities=capabilities)))
    nothing: Any = None
    session, run = Session(ours, (), nothing, nothing, 1, 1.0), Counted()
    samples = session._rounds({"ocl": run}, Result("", "", "f32", 1, []), again=True)
    assert samples == {"ocl": [Sample(len(run.turns))]}
    assert run.turns == list(range(len(run.turns)))
    assert run.begun[-1] - run.begun[0] >= least
    assert kind == "cpu" or len(run.turns) == 2
