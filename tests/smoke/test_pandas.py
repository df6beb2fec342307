"""pandas takes arrays of the device as it takes NumPy's, and operators between them work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ocl_runtime as ocl

HOST = np.array([[0.5, 2.0], [-1.25, 4.0], [3.0, -8.0]], "f4")


def test_tables_and_columns_are_made_of_arrays() -> None:
    x = ocl.asarray(HOST)
    pd.testing.assert_frame_equal(pd.DataFrame(x, columns=["a", "b"]), pd.DataFrame(HOST, columns=["a", "b"]))
    pd.testing.assert_frame_equal(
        pd.DataFrame({"a": x[:, 0], "b": x[:, 1]}), pd.DataFrame({"a": HOST[:, 0], "b": HOST[:, 1]})
    )
    pd.testing.assert_series_equal(pd.Series(x[:, 0]), pd.Series(HOST[:, 0]))
    pd.testing.assert_index_equal(pd.Index(x[:, 1]), pd.Index(HOST[:, 1]))


def test_columns_take_arrays() -> None:
    found, expected = pd.DataFrame({"a": HOST[:, 0]}), pd.DataFrame({"a": HOST[:, 0]})
    found["b"], expected["b"] = ocl.asarray(HOST[:, 1]), HOST[:, 1]
    found["c"], expected["c"] = found["a"] * ocl.asarray(HOST[:, 1]), expected["a"] * HOST[:, 1]
    mask = ocl.asarray(HOST[:, 0]) > 0
    pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(found[mask.numpy()], expected[HOST[:, 0] > 0])
    found.loc[:, "a"] = ocl.asarray(HOST[:, 1])
    expected.loc[:, "a"] = HOST[:, 1]
    pd.testing.assert_frame_equal(found, expected)


def test_arrays_are_made_of_columns() -> None:
    frame = pd.DataFrame(HOST, columns=["a", "b"])
    np.testing.assert_array_equal(ocl.asarray(frame["a"]).numpy(), HOST[:, 0])
    np.testing.assert_array_equal(ocl.asarray(frame).numpy(), HOST)
    np.testing.assert_array_equal((ocl.asarray(HOST[:, 0]) + ocl.asarray(frame["b"])).numpy(), HOST[:, 0] + HOST[:, 1])


@pytest.mark.parametrize("function", [pd.isna, pd.notna, pd.to_numeric, lambda x: pd.cut(x, 2, labels=False)])
def test_functions_of_pandas(function: object) -> None:
    assert callable(function)
    np.testing.assert_array_equal(np.asarray(function(ocl.asarray(HOST[:, 0]))), np.asarray(function(HOST[:, 0])))
