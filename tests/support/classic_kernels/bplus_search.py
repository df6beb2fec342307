"""Queries of a B+ tree: all keys of a node are compared at once, by a row of work-items for each query."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array1, Array2, barrier, cdiv, group_id, int32, local_array, local_id
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

ORDER, QUERIES = 16, 8
BEHIND = 2**31 - 1
"""The key of a place that is empty: no query is as large."""


@ocl.kernel(local=(ORDER, QUERIES))
def search(keys: Array2, children: Array2, queries: Array1, results: Array1, height):
    """Row 0 of keys is the root. Children of leaves are the values."""
    node = local_array(QUERIES, int32)
    lane, row = local_id(0), local_id(1)
    number = group_id(1) * QUERIES + row
    query = queries[number] if number < queries.size else 0
    if lane == 0:
        node[row] = 0
    barrier()
    for _ in range(height):
        own = node[row]
        covers = keys[own, lane] <= query and (lane == ORDER - 1 or query < keys[own, lane + 1])
        barrier()
        if covers:
            node[row] = children[own, lane]
        barrier()
    leaf = node[row]
    if number < queries.size and keys[leaf, lane] == query:
        results[number] = children[leaf, lane]


SOURCE = """
#define ORDER 16
#define QUERIES 8

__kernel __attribute__((reqd_work_group_size(ORDER, QUERIES, 1)))
void search(__global const int *restrict keys, __global const int *restrict children,
            __global const int *restrict queries, __global int *restrict results, int height, int n)
{
    __local int node[QUERIES];
    int lane = get_local_id(0), row = get_local_id(1);
    int number = get_group_id(1) * QUERIES + row;
    int query = number < n ? queries[number] : 0;
    if (lane == 0)
        node[row] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int level = 0; level < height; level++) {
        int own = node[row];
        int covers = keys[own * ORDER + lane] <= query
            && (lane == ORDER - 1 || query < keys[own * ORDER + lane + 1]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (covers)
            node[row] = children[own * ORDER + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int leaf = node[row];
    if (number < n && keys[leaf * ORDER + lane] == query)
        results[number] = children[leaf * ORDER + lane];
}
"""


def tree(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Nodes of sorted keys, root first: their keys, their children, and how many levels are above the leaves."""
    levels = [_nodes(keys, values)]
    while len(levels[0][0]) > 1:
        first_keys = levels[0][0][:, 0].copy()
        first_keys[0] = 0  # the first child takes all that is less than the second
        levels.insert(0, _nodes(first_keys, np.arange(len(first_keys), dtype=np.int32)))
    ends = np.cumsum([len(children) for _, children in levels])
    for level, end in enumerate(ends[:-1]):
        levels[level][1][...] += end  # the next level lies behind this one
    return *(np.concatenate(parts) for parts in zip(*levels, strict=True)), len(levels) - 1


def _nodes(keys: np.ndarray, children: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = cdiv(len(keys), ORDER)
    padded = np.full((2, count * ORDER), BEHIND, np.int32)
    padded[0, : len(keys)], padded[1, : len(keys)] = keys, children
    padded[1, len(keys) :] = 0
    return padded[0].reshape(count, ORDER), padded[1].reshape(count, ORDER)


def problem(count: int, query_count: int) -> Problem:
    """So many keys, and queries of which about half are among them."""
    rng = np.random.default_rng(13)
    keys = np.sort(rng.choice(4 * count, count, replace=False)).astype(np.int32) + 1
    values = rng.integers(0, 2**31, count).astype(np.int32)
    queries = np.where(
        rng.random(query_count) < 0.5, rng.choice(keys, query_count), rng.integers(0, 4 * count, query_count)
    ).astype(np.int32)

    def expected() -> Arrays:
        at = np.minimum(np.searchsorted(keys, queries), count - 1)
        return {"results": np.where(keys[at] == queries, values[at], -1)}

    nodes, children, height = tree(keys, values)
    arguments = ("keys", "children", "queries", "results", height)
    results = np.full(query_count, -1, np.int32)
    return Problem(
        {"keys": nodes, "children": children, "queries": queries, "results": results},
        [Launch(search, (1, cdiv(query_count, QUERIES)), arguments, (*arguments, query_count))],
        expected,
    )


CLASSIC = Classic("B+ search", SOURCE, problem, small=(701, 133), real=(1_000_003, 100_003))
