"""The source of a function is what runs, or an error: told by positions, compared by instructions and constants."""

from __future__ import annotations

import ast
import doctest
import functools
import linecache
import math
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from ocl_ir.language.errors import KernelError
from ocl_ir.language.syntax.source import function_from, source_of


def body(function: Callable[..., Any]) -> str:
    """The text of what a function's source is said to be."""
    assert isinstance(function, FunctionType)
    node = source_of(function).node
    return ast.unparse(node.body) if isinstance(node, ast.Lambda) else "; ".join(map(ast.unparse, node.body))


def unchanged(function: Any) -> Any:
    return function


def with_options(**_: object) -> Callable[[Any], Any]:
    return unchanged


@unchanged
@with_options(
    first=1,
    second=[number + 1 for number in range(3)],
)
def decorated(x: int) -> int:
    return x + 41


def nested() -> tuple[Any, Any]:
    def inner(x: int) -> int:
        return x + 1

    first = inner

    def inner(x: int) -> int:  # type: ignore[no-redef]
        return x + 2

    return first, inner


pair = (lambda x: x + 1), (lambda x: x + 2)
around = lambda x: lambda y: x + y  # noqa: E731
both = lambda x: lambda x: x  # noqa: E731


def same_name() -> Any:
    def same_name() -> Any:
        return 5

    return same_name


def asserting(x: float) -> float:
    assert x > 0, "pytest rewrites this"
    return math.sqrt(x)


def test_decorated_functions_and_nested_ones_of_one_name() -> None:
    assert body(decorated) == "return x + 41"
    first, second = nested()
    assert (body(first), body(second)) == ("return x + 1", "return x + 2")


def test_lambdas_of_one_line() -> None:
    assert [body(function) for function in pair] == ["x + 1", "x + 2"]
    assert body(around) == "lambda y: x + y"
    assert body(around(1)) == "x + y"
    assert (body(both), body(both(1))) == ("lambda x: x", "x")


def test_a_function_that_holds_one_of_its_name() -> None:
    assert body(same_name).startswith("def same_name")
    assert body(same_name()) == "return 5"


def test_functions_whose_assertions_pytest_has_rewritten() -> None:
    assert "@pytest_ar" in asserting.__code__.co_names
    assert body(asserting).startswith("assert x > 0")


def test_a_wrapped_function_is_itself() -> None:
    # Outside of the assert: pytest 8.0 gives all that stands in one the same position.
    wrapped = functools.wraps(decorated)(lambda x: decorated(x) * 2)
    assert body(wrapped) == "decorated(x) * 2"


def module_of(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    module = ModuleType(path.stem)
    exec(compile(text, str(path), "exec"), vars(module))
    return module


def test_a_file_that_was_changed_is_no_source(tmp_path: Path) -> None:
    """Also where only a constant differs, which instructions alone do not tell."""
    path = tmp_path / "changed.py"
    module = module_of(path, "def f(x):\n    return x + 1\n")
    path.write_text("def f(x):\n    return x + 2\n")
    with pytest.raises(KernelError, match=r"changed.py was changed since f was defined(.|\n)*changed.py:1"):
        source_of(module.f)


def test_a_file_that_is_no_python_any_more(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    module = module_of(path, "def f(x):\n    return x + 1\n")
    path.write_text("def f(x:\n")
    with pytest.raises(KernelError, match="no Python any more"):
        source_of(module.f)


def test_a_file_is_parsed_once_for_all_of_its_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(5))
    module, parse, parsed = module_of(tmp_path / "many.py", text), ast.parse, list[str]()
    monkeypatch.setattr(ast, "parse", lambda source: parsed.append(source) or parse(source))
    assert [body(getattr(module, f"f{number}")) for number in range(5)] == [f"return x + {n}" for n in range(5)]
    assert parsed == [text]


def test_what_was_read_before_a_change_stays(tmp_path: Path) -> None:
    path = tmp_path / "cached.py"
    module = module_of(path, "def f(x):\n    return x + 1\n")
    assert body(module.f) == "return x + 1"
    path.write_text("def f(x):\n    return x + 2\n")
    assert body(module.f) == "return x + 1"


def test_equal_functions_of_two_files_have_each_its_file(tmp_path: Path) -> None:
    text = "def f(x):\n    return x + 1\n"
    first, second = (module_of(tmp_path / name, text) for name in ("first.py", "second.py"))
    assert first.f.__code__ == second.f.__code__
    assert [Path(source_of(module.f).frame.file).name for module in (first, second)] == ["first.py", "second.py"]


def test_exec_needs_lines_that_python_knows() -> None:
    text = "def f(x):\n    return x * 3\n"
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    with pytest.raises(KernelError, match=r"not at hand(.|\n)*ocl.kernel\(source=text\)"):
        source_of(namespace["f"])
    linecache.cache["<a cell>"] = len(text), None, text.splitlines(keepends=True), "<a cell>"
    exec(compile(text, "<a cell>", "exec"), namespace)
    assert body(namespace["f"]) == "return x * 3"


def test_future_statements_of_the_file_are_those_of_its_functions(tmp_path: Path) -> None:
    text = "from __future__ import annotations\ndef f(x: nowhere) -> nowhere:\n    return x\n"
    assert body(module_of(tmp_path / "future.py", text).f) == "return x"


def test_doctest() -> None:
    found: list[str] = []
    text = ">>> def f(x):\n...     return x - 7\n>>> found.append(body(f))\n"
    test = doctest.DocTestParser().get_doctest(text, {"found": found, "body": body}, "example", None, None)
    assert doctest.DocTestRunner().run(test).failed == 0
    assert found == ["return x - 7"]


def test_a_text() -> None:
    made = function_from("n = 3\ndef f(x, y=n):\n    return x + y + z\n", {"z": 10})
    assert made(1) == 14
    assert source_of(made).node.name == "f"  # type: ignore[union-attr]
    for text, error in {
        "x = 1": "no function at its top level",
        "def f(:": "no Python",
        "def f(): pass\ndef g(): pass": "2 functions",
    }.items():
        with pytest.raises(KernelError, match=error):
            function_from(text, {})


def test_a_coroutine_is_refused() -> None:
    async def f(x: int) -> int:
        return x

    with pytest.raises(KernelError, match="f is a coroutine"):
        source_of(f)  # type: ignore[arg-type]
