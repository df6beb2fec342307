"""Handles of a plan's values: statuses, forks, merges (the rules of `ocl_runtime.plan.handles`)."""

from __future__ import annotations

import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_runtime.errors import Error
from ocl_runtime.plan.handles import HandleContainer, Status


class Memory:
    pass


@pytest.mark.parametrize("status", [Status.READ_ONLY, Status.READ_WRITE])
def test_a_missing_value_is_named_and_nothing_changes(status: Status) -> None:
    handles: HandleContainer[str, int] = HandleContainer()
    handles.register("x", 1)
    with pytest.raises(Error, match="'y' is not there"):
        handles.get("y", status)
    handles.declare("z")
    with pytest.raises(Error, match="'z' is not written yet"):
        handles.get("z", status)
    assert list(handles) == ["x"]
    handles.register("z", 2)
    assert handles.get("z", Status.READ_ONLY) == 2


def test_asking_for_what_will_be_written_is_an_error() -> None:
    handles: HandleContainer[str, int] = HandleContainer()
    handles.register("x", 1)
    with pytest.raises(Error, match="'x'"):
        handles.get("x", Status.NOT_INIT)
    with pytest.raises(Error, match="'x' has a value already"):
        handles.declare("x")
    assert handles.get("x", Status.READ_ONLY) == 1


def test_the_last_use_gives_the_handle_up() -> None:
    handles: HandleContainer[str, Memory] = HandleContainer()
    handles.register("x", Memory())
    watched = weakref.ref(handles.get("x", Status.READ_ONLY))
    assert watched() is not None
    handles.get("x", Status.READ_WRITE)
    assert watched() is None
    assert "x" not in handles


def test_only_what_nobody_needs_is_freed() -> None:
    handles: HandleContainer[str, int] = HandleContainer()
    handles.register("x", 1)
    handles.declare("y")
    handles.free("x", Status.READ_ONLY)
    handles.free("y", Status.NOT_INIT)
    handles.free("nobody", Status.READ_WRITE)
    assert list(handles) == ["x"]
    handles.free("x", Status.READ_WRITE)
    assert not len(handles)


def test_forks_share_memory_and_no_entries() -> None:
    handles: HandleContainer[str, Memory] = HandleContainer()
    handles.register("x", Memory())
    one, other = handles.fork(), handles.fork()
    assert one.get("x", Status.READ_WRITE) is handles.get("x", Status.READ_ONLY)
    one.register("y", Memory())
    assert "x" in handles
    assert "x" in other
    assert "y" not in handles
    assert "y" not in other


def test_the_winners_outputs_are_taken_once_and_the_others_leave_nothing() -> None:
    handles: HandleContainer[str, Memory] = HandleContainer()
    handles.register("x", Memory())
    forks = [handles.fork() for _ in range(3)]
    for fork in forks:
        fork.register("between", Memory())
        fork.register("y", Memory())
    made = [weakref.ref(fork.get("y", Status.READ_ONLY)) for fork in forks]
    handles.merge(forks[1], ["y"])
    assert sorted(handles) == ["x", "y"]
    assert handles.get("y", Status.READ_ONLY) is made[1]()
    with pytest.raises(Error, match="'y' is not there"):
        handles.merge(forks[1], ["y"])
    del fork, forks
    assert [one() is None for one in made] == [True, False, True]


def test_a_fork_without_an_output_changes_nothing() -> None:
    handles: HandleContainer[str, int] = HandleContainer()
    fork = handles.fork()
    fork.register("y", 1)
    with pytest.raises(Error, match="'z'"):
        handles.merge(fork, ["y", "z"])
    assert not len(handles)
    assert "y" in fork


@given(st.lists(st.tuples(st.sampled_from(["register", "read", "last", "free", "keep", "fork"]), st.integers(0, 3))))
def test_what_is_there_follows_from_the_uses(uses: list[tuple[str, int]]) -> None:
    handles: HandleContainer[int, int] = HandleContainer()
    model: dict[int, int] = {}
    aside: list[tuple[HandleContainer[int, int], dict[int, int]]] = []
    for number, (use, id_) in enumerate(uses):
        if use == "register":
            handles.register(id_, number)
            model[id_] = number
        elif use in ("read", "last"):
            status = Status.READ_ONLY if use == "read" else Status.READ_WRITE
            if id_ in model:
                assert handles.get(id_, status) == (model[id_] if use == "read" else model.pop(id_))
            else:
                with pytest.raises(Error, match=f"{id_} is not there"):
                    handles.get(id_, status)
        elif use == "fork":  # what was before stays as it is, whatever happens in the fork
            aside.append((handles, dict(model)))
            handles = handles.fork()
        else:
            handles.free(id_, Status.READ_WRITE if use == "free" else Status.READ_ONLY)
            if use == "free":
                model.pop(id_, None)
    for container, expected in [*aside, (handles, model)]:
        assert {id_: container.get(id_, Status.READ_ONLY) for id_ in container} == expected
