"""Fourier transforms, with the names of the array API standard's extension `fft`.

    import ocl_runtime as ocl

    spectrum = ocl.fft.rfft(signal)
    frequencies = ocl.fft.rfftfreq(signal.size, d=1 / 44100)

lengths.py      which lengths butterflies transform, and which are convolved
any_length.py   transforms along one axis, of any length
transforms.py   transforms of complex and real numbers
frequencies.py  frequencies, and their order
"""

from ocl_runtime.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from ocl_runtime.fft.transforms import fft, fftn, hfft, ifft, ifftn, ihfft, irfft, irfftn, rfft, rfftn

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip
