"""SciPy with SCIPY_ARRAY_API=1: arrays of the device in, arrays of the device out, with NumPy's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import (
    cluster,
    differentiate,
    fft,
    integrate,
    interpolate,
    ndimage,
    optimize,
    signal,
    spatial,
    special,
    stats,
)

import ocl_runtime as ocl

_RNG = np.random.default_rng(0)
LINE = _RNG.standard_normal(30)
POSITIVE = np.abs(LINE) + 0.1
TABLE = _RNG.standard_normal((8, 3))
KNOTS = np.arange(8.0)

CALLS: dict[str, Callable[[Callable[[np.ndarray], Any]], Any]] = {
    "special.erf": lambda a: special.erf(a(LINE)),
    "special.gammaln": lambda a: special.gammaln(a(POSITIVE)),
    "special.expit": lambda a: special.expit(a(LINE)),
    "special.ndtr": lambda a: special.ndtr(a(LINE)),
    "special.i0": lambda a: special.i0(a(LINE)),
    "special.erfinv": lambda a: special.erfinv(a(np.tanh(LINE))),
    "special.log_ndtr": lambda a: special.log_ndtr(a(LINE * 10)),
    "special.psi": lambda a: special.psi(a(LINE)),
    "special.i1e": lambda a: special.i1e(a(LINE * 10)),
    "special.logit": lambda a: special.logit(a(POSITIVE / 5)),
    "special.xlogy": lambda a: special.xlogy(a(POSITIVE), a(POSITIVE)),
    "special.rel_entr": lambda a: special.rel_entr(a(POSITIVE), a(POSITIVE) * 2),
    "special.logsumexp": lambda a: special.logsumexp(a(LINE)),
    "special.softmax": lambda a: special.softmax(a(TABLE), axis=1),
    "special.log_softmax": lambda a: special.log_softmax(a(TABLE), axis=1),
    "special.erfc": lambda a: special.erfc(a(LINE)),
    "special.ndtri": lambda a: special.ndtri(a(POSITIVE) / 10),
    "special.digamma": lambda a: special.digamma(a(POSITIVE)),
    "special.entr": lambda a: special.entr(a(POSITIVE)),
    "special.kl_div": lambda a: special.kl_div(a(POSITIVE), a(POSITIVE) * 2),
    "stats.zscore": lambda a: stats.zscore(a(LINE)),
    "stats.gmean": lambda a: stats.gmean(a(POSITIVE)),
    "stats.skew": lambda a: stats.skew(a(LINE)),
    "stats.kurtosis": lambda a: stats.kurtosis(a(LINE)),
    "stats.sem": lambda a: stats.sem(a(LINE)),
    "stats.entropy": lambda a: stats.entropy(a(POSITIVE)),
    "stats.ttest_ind": lambda a: stats.ttest_ind(a(LINE), a(POSITIVE)).pvalue,
    "stats.pearsonr": lambda a: stats.pearsonr(a(LINE), a(POSITIVE)).statistic,
    "stats.normaltest": lambda a: stats.normaltest(a(LINE)).statistic,
    "stats.circmean": lambda a: stats.circmean(a(LINE)),
    "signal.detrend": lambda a: signal.detrend(a(LINE)),
    "signal.convolve": lambda a: signal.convolve(a(LINE), a(LINE[:3]), method="direct"),
    "signal.fftconvolve": lambda a: signal.fftconvolve(a(LINE), a(LINE[:9])),
    "signal.oaconvolve": lambda a: signal.oaconvolve(a(LINE), a(LINE[:3])),
    "signal.correlate": lambda a: signal.correlate(a(LINE), a(LINE[:9]), method="fft"),
    "signal.hilbert": lambda a: signal.hilbert(a(LINE)),
    "signal.resample": lambda a: signal.resample(a(LINE), 45),
    "signal.sosfilt": lambda a: signal.sosfilt(a(signal.butter(4, 0.3, output="sos")), a(LINE)),
    "signal.filtfilt": lambda a: signal.filtfilt(*map(a, signal.butter(2, 0.3)), a(LINE)),
    "signal.freqz": lambda a: signal.freqz(a(LINE[:5]), worN=16)[1],
    "signal.wiener": lambda a: signal.wiener(a(TABLE), 3),
    "signal.windows": lambda a: a(LINE) * signal.windows.hann(30, xp=ocl if isinstance(a(LINE), ocl.Array) else np),
    "fft.fft": lambda a: fft.fft(a(LINE)),
    "fft.rfft": lambda a: fft.rfft(a(LINE), norm="ortho"),
    "fft.fftn": lambda a: fft.fftn(a(TABLE)),
    "fft.irfft": lambda a: fft.irfft(a(LINE + 1j * POSITIVE)),
    "fft.dct": lambda a: fft.dct(a(LINE)),
    "signal.medfilt": lambda a: signal.medfilt(a(LINE), 3),
    "ndimage.gaussian_filter": lambda a: ndimage.gaussian_filter(a(TABLE), 1.0),
    "ndimage.sobel": lambda a: ndimage.sobel(a(TABLE)),
    "ndimage.zoom": lambda a: ndimage.zoom(a(TABLE), 2),
    "cluster.whiten": lambda a: cluster.vq.whiten(a(TABLE)),
    "cluster.vq": lambda a: cluster.vq.vq(a(TABLE), a(TABLE[:2]))[1],
    "differentiate.derivative": lambda a: differentiate.derivative(lambda x: x**2, a(LINE)).df,
    "integrate.tanhsinh": lambda a: integrate.tanhsinh(lambda x: x**2, a(POSITIVE) * 0, a(POSITIVE)).integral,
    "integrate.trapezoid": lambda a: integrate.trapezoid(a(LINE)),
    "integrate.cumulative_trapezoid": lambda a: integrate.cumulative_trapezoid(a(LINE)),
    "integrate.cubature": lambda a: integrate.cubature(lambda x: x[:, 0], a(np.zeros(1)), a(np.ones(1))).estimate,
    "optimize.rosen": lambda a: optimize.rosen(a(LINE)),
    "optimize.rosen_der": lambda a: optimize.rosen_der(a(LINE)),
    "spatial.Rotation": lambda a: spatial.transform.Rotation.from_rotvec(a(TABLE)).as_matrix(),
    "spatial.pdist": lambda a: spatial.distance.pdist(a(TABLE)),
    "interpolate.CubicSpline": lambda a: interpolate.CubicSpline(a(KNOTS), a(KNOTS**2))(a(KNOTS + 0.5)),
    "interpolate.PchipInterpolator": lambda a: interpolate.PchipInterpolator(a(KNOTS), a(KNOTS**2))(a(KNOTS)),
}


@pytest.mark.parametrize("name", CALLS)
def test_gives_what_it_gives_for_numpy(name: str) -> None:
    found, expected = CALLS[name](ocl.asarray), CALLS[name](np.asarray)
    assert isinstance(found, ocl.Array)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)
