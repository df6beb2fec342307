"""Distributions that are made of several others: Wald's, and those of chi square and Fisher that are not central."""

from __future__ import annotations

import math

from ocl_ir.types import F64
from ocl_runtime.arrays import Array, astype, sqrt, where
from ocl_runtime.arrays.meaning.dtypes import require
from ocl_runtime.random.counts import poisson
from ocl_runtime.random.gammas import Drawing, chisquare
from ocl_runtime.random.parameters import Parameter
from ocl_runtime.random.words import normal, uniform


def wald(drawing: Drawing, mean: Parameter, scale: Parameter) -> Array:
    """One of the two roots of an equation that a squared normal number gives. Their product is the square of the mean,
    so the smaller one is a quotient, and nothing cancels. Michael, Schucany, Haas, Generating random variates using
    transformations with multiple roots, The American Statistician 30 (1976)."""
    deviate = normal(drawing.words(), drawing.dtype)
    half = deviate * deviate * mean / (scale * 2)
    ratio = 1 + half + sqrt(half) * sqrt(2 + half)  # a product of both may be infinite
    is_small = uniform(drawing.words(), drawing.dtype) * (1 + ratio) <= ratio
    return where(is_small, mean / ratio, mean * ratio)


def noncentral_chisquare(drawing: Drawing, df: Parameter, nonc: Parameter) -> Array:
    """The square of a shifted normal number and a number of chi square with a degree less; or, of few degrees, and of
    those of an array, one of chi square with twice a Poisson number of degrees more, which takes float64."""
    if not isinstance(df, Array) and df > 1:
        root = sqrt(nonc) if isinstance(nonc, Array) else math.sqrt(nonc)
        deviate = normal(drawing.words(), drawing.dtype) + root
        return chisquare(drawing, df - 1) + deviate * deviate
    wide = drawing._replace(dtype=require(F64, drawing.executor.target))
    more = astype(poisson(wide, nonc / 2), drawing.dtype.public)
    return chisquare(drawing, df + 2 * more)


def noncentral_f(drawing: Drawing, dfnum: Parameter, dfden: Parameter, nonc: Parameter) -> Array:
    """A quotient of two numbers of chi square, each divided by its degrees of freedom, the upper one not central."""
    upper = noncentral_chisquare(drawing, dfnum, nonc) / dfnum
    return upper / (chisquare(drawing, dfden) / dfden)
