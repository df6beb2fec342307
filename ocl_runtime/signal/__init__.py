"""Signals, with the names and signatures of `scipy.signal`.

    import ocl_runtime as ocl

    smooth = ocl.signal.convolve(picture, kernel, mode="same")

convolution.py   convolutions and correlations along any axes
"""

from ocl_runtime.signal.convolution import convolve, correlate, fftconvolve

__all__ = ["convolve", "correlate", "fftconvolve"]
