"""Classic kernels of benchmark suites, each in the language, by hand in OpenCL C with the same tiles, and in NumPy.

The language contracts nothing where OpenCL C may: sums of products say `fma` in both.
"""

from tests.support.classic_kernels import (
    atax,
    bplus_search,
    breadth_first,
    convolution,
    correlation,
    floyd_warshall,
    histogram,
    hotspot,
    kmeans,
    lu,
    needleman_wunsch,
    pathfinder,
    srad,
    two_products,
)

MODULES = (
    two_products,
    atax,
    correlation,
    floyd_warshall,
    lu,
    hotspot,
    pathfinder,
    needleman_wunsch,
    srad,
    kmeans,
    bplus_search,
    breadth_first,
    histogram,
    convolution,
)
CLASSICS = [module.CLASSIC for module in MODULES]
