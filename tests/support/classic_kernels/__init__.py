"""Classic kernels of benchmark suites, each in the language, by hand in OpenCL C with the same tiles, and in NumPy."""

from tests.support.classic_kernels import atax, convolution, floyd_warshall, histogram, hotspot, two_products

CLASSICS = [module.CLASSIC for module in (two_products, atax, floyd_warshall, hotspot, histogram, convolution)]
