from __future__ import annotations

import numpy as np
import pytest

from ocl_ir import layout as layouts
from ocl_ir.errors import ShapeError
from ocl_ir.guards import Guards, formula
from ocl_ir.indices import Span, parse_index
from ocl_ir.layout import Layout, broadcast_shapes, collapse


def elements(layout: Layout) -> np.ndarray:
    """The places of a layout's elements."""
    places = np.full(layout.shape, layout.offset)
    for axis, (length, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        steps = np.arange(length) * stride
        places = places + steps.reshape((-1,) + (1,) * (len(layout.shape) - axis - 1))
    return places


def base(*shape: int) -> Layout:
    return Layout.contiguous(shape)


INDICES = [
    np.s_[1],
    np.s_[-1, 2],
    np.s_[::2, ::-1],
    np.s_[..., 0],
    np.s_[None, 1:, None, ::3],
    np.s_[5:, :],
    np.s_[2:0:-1, 4:1:-2],
    np.s_[...],
    np.s_[()],
    np.s_[10:20, -100:100],
    np.s_[np.int64(1), np.uint8(3)],
]


@pytest.mark.parametrize("key", INDICES, ids=str)
def test_an_index_picks_what_numpy_picks(key: object) -> None:
    places = np.arange(24).reshape(4, 6)
    view = base(4, 6).index(parse_index((4, 6), key))
    assert view.shape == places[key].shape
    np.testing.assert_array_equal(elements(view), places[key])


@pytest.mark.parametrize(
    ("key", "fact"),
    [
        (4, "index 4 is out of bounds for axis 0 of length 4"),
        (np.s_[0, -7], "index -7 is out of bounds for axis 1 of length 6"),
        (np.s_[0, 0, 0], "3 indices for an array with 2 axes"),
        (np.s_[..., ...], "more than one Ellipsis"),
        (np.s_[::0], "slice step cannot be zero"),
        (1.0, "axis 0 has an index of type float"),
        (True, "axis 0 has an index of type bool"),
        ("a", "axis 0 has an index of type str"),
        (np.s_[0, "a":], "axis 1 has the index slice"),
        ([0, 1], "axis 0 has an index of type list"),
    ],
    ids=str,
)
def test_an_index_that_does_not_fit_is_explained(key: object, fact: str) -> None:
    with pytest.raises(ShapeError) as caught:
        parse_index((4, 6), key)
    assert fact in caught.value.fact
    assert "test_layout.py" in caught.value.place
    assert caught.value.remedy


def test_masks_and_index_arrays_are_named_as_what_indexes() -> None:
    with pytest.raises(ShapeError) as caught:
        parse_index((4, 6), "a")
    assert caught.value.remedy == "use integers, slices, `...`, None, and arrays or lists of integers or bools"


def test_an_empty_slice_keeps_the_offset_in_bounds() -> None:
    view = base(4).index(parse_index((4,), np.s_[4:]))
    assert view.range() == (0, 0)
    assert view.is_dense


def test_movements_are_numpys() -> None:
    places = np.arange(24).reshape(2, 3, 4)
    layout = base(2, 3, 4)
    np.testing.assert_array_equal(elements(layout.permute((2, 0, 1))), places.transpose(2, 0, 1))
    np.testing.assert_array_equal(elements(base(3, 1).expand((2, 3, 4))), np.broadcast_to([[0], [1], [2]], (2, 3, 4)))


@pytest.mark.parametrize("shape", [(24,), (6, 4), (2, 3, 2, 2), (1, 24, 1), (4, 3, 2), (2, 12)], ids=str)
@pytest.mark.parametrize(
    "key", [np.s_[:, :, :], np.s_[::-1], np.s_[:, :, ::-1], np.s_[:, None], np.s_[..., ::2]], ids=str
)
def test_a_reshape_is_a_view_exactly_where_numpy_has_one(shape: tuple[int, ...], key: object) -> None:
    memory = np.arange(2 * 3 * 8)
    places = memory[:24].reshape(2, 3, 4) if key != np.s_[..., ::2] else memory.reshape(2, 3, 8)
    view = Layout.contiguous(places.shape).index(parse_index(places.shape, key)).reshape(shape)
    expected = places[key].reshape(shape)
    assert (view is not None) == np.shares_memory(expected, memory)
    if view is not None:
        np.testing.assert_array_equal(elements(view), expected)


def test_an_empty_array_takes_any_shape_of_its_size() -> None:
    assert base(0, 3).reshape((3, 0, 5)) == Layout((3, 0, 5), (5, 5, 1))


def test_dense_means_row_major_without_gaps() -> None:
    assert base(2, 3).is_dense
    assert Layout((1, 3), (99, 1), 7).is_dense
    assert not base(2, 3).permute((1, 0)).is_dense
    assert not Layout((3,), (2,)).is_dense
    assert not Layout((3,), (0,)).is_dense


def test_the_range_ends_after_the_highest_element() -> None:
    assert base(2, 3).range() == (0, 6)
    assert Layout((3, 2), (-4, 1), 8).range() == (0, 10)
    assert Layout((3,), (0,), 5).range() == (5, 6)


def test_the_span_is_that_of_the_range_wherever_it_begins() -> None:
    for layout in (base(2, 3), Layout((3, 2), (-4, 1), 8), Layout((3,), (0,), 5), Layout((0, 4), (4, 1), 7)):
        low, high = layout.range()
        assert layout.span == high - low
    guards = Guards()
    n, start = guards.size("n", 8), guards.apart("start", 40)
    assert str(formula(Layout((n,), (1,), start).span)) == "n"
    assert Layout((n,), (1,), start).range() == (40, 48)


@pytest.mark.parametrize("length", [1.0, True, np.float64(7.0), 7.5])
def test_a_length_that_equals_an_integer_is_none(length: object) -> None:
    """Layouts are kept by their shapes, and would have it in place of the integer for all who ask later."""
    layouts._contiguous.cache_clear()
    with pytest.raises(ShapeError, match="has the length"):
        Layout.contiguous((length,))  # type: ignore[arg-type]
    assert type(Layout.contiguous((int(length),)).shape[0]) is int  # type: ignore[call-overload]
    layouts._contiguous.cache_clear()
    assert type(Layout.contiguous((np.int64(5),)).shape[0]) is int


def test_ascending_strides_reach_the_same_elements() -> None:
    for layout in (base(2, 3), Layout((3, 2), (-4, 1), 8), Layout((2, 3, 2), (6, -2, -1), 5), Layout((0,), (-1,), 3)):
        ascending = layout.ascending
        assert sorted(elements(ascending).flat) == sorted(elements(layout).flat)
        assert min(ascending.strides) >= 0
        assert ascending.offset == layout.range()[0]


def test_overlap_is_exact() -> None:
    whole = base(4, 6)
    even, odd = (whole.index(parse_index((4, 6), np.s_[:, start::2])) for start in (0, 1))
    assert not even.overlaps(odd)
    assert even.overlaps(whole)
    left, right = (whole.index(parse_index((4, 6), key)) for key in (np.s_[:, :3], np.s_[:, 3:]))
    assert not left.overlaps(right)
    assert left.overlaps(whole.index(parse_index((4, 6), np.s_[::-1, 2:])))
    assert not base(6).overlaps(Layout((6,), (1,), 6))
    assert not base(0).overlaps(base(6))
    three, five = Layout((10,), (3,), 0), Layout((10,), (5,), 1)
    assert three.overlaps(five) == bool(set(range(0, 30, 3)) & set(range(1, 51, 5)))


def test_collapse_merges_what_follows_in_every_layout() -> None:
    shape = (2, 1, 3, 4)
    assert collapse(shape, [base(*shape), base(*shape)])[0] == (24,)
    transposed = base(4, 3).permute((1, 0)).expand(shape)
    lengths, (first, second) = collapse(shape, [base(*shape), transposed])
    assert lengths == (2, 3, 4)
    assert (first.strides, second.strides) == ((12, 4, 1), (0, 1, 3))
    row = base(4).expand(shape)
    lengths, layouts = collapse(shape, [base(*shape), row])
    assert lengths == (6, 4)
    assert [layout.strides for layout in layouts] == [(4, 1), (0, 1)]
    assert collapse((1, 1), [base(1, 1)])[0] == ()


def test_shapes_broadcast_as_numpys() -> None:
    assert broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    assert broadcast_shapes((0, 1), (1, 5)) == (0, 5)
    assert broadcast_shapes() == ()
    with pytest.raises(ShapeError, match="axis -1 has lengths 3, 4") as caught:
        broadcast_shapes((2, 3), (4,))
    assert caught.value.remedy


def test_items_are_resolved() -> None:
    assert parse_index((4, 6), np.s_[-1, None, ::-1]) == (3, None, Span(5, -1, 6))


def test_overlaps_of_random_layouts_are_those_of_their_elements() -> None:
    """Rows, columns, boxes, steps backwards, broadcast and empty axes, over one base and over unlike ones."""
    rng = np.random.default_rng(0)

    def part(layout: Layout) -> Layout:
        for _ in range(2):
            key = tuple(
                int(rng.integers(length)) if length and rng.random() < 0.25
                else slice(*sorted(rng.integers(0, length + 1, 2).tolist()), int(rng.integers(1, 4)))
                if rng.random() < 0.8
                else slice(None, None, -int(rng.integers(1, 3)))
                for length in layout.shape
            )  # fmt: skip
            layout = layout.index(parse_index(layout.shape, key))
        if layout.size == 1 and rng.random() < 0.5:
            layout = layout.expand((3, *layout.shape))
        return layout

    answers = []
    for _ in range(3000):
        whole = base(*rng.integers(1, 7, rng.integers(1, 4)).tolist())
        other = whole if rng.random() < 0.7 else base(int(rng.integers(1, 60)))
        first, second = part(whole), part(other)
        shared = not set(elements(first).ravel().tolist()).isdisjoint(elements(second).ravel().tolist())
        assert first.overlaps(second) == shared, (first, second)
        answers.append(shared)
    assert 100 < sum(answers) < 2700


def test_two_repeated_elements_overlap_where_they_are_one() -> None:
    first, second = Layout((3,), (0,), 5), Layout((1,), (1,), 5)
    assert first.overlaps(second)
    assert not first.overlaps(Layout((1,), (1,), 6))


def test_whether_parts_of_a_size_overlap_holds_for_other_sizes() -> None:
    guards = Guards()
    rows, width = guards.size("rows", 40), guards.size("width", 30)
    column = base(rows, width).index(parse_index((rows, width), np.s_[3:, 2]))
    rest = base(rows, width).index(parse_index((rows, width), np.s_[3:, 3:]))
    assert not column.overlaps(rest)
    assert guards.hold({"rows": 50, "width": 70})
