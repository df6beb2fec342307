"""scikit-learn with `array_api_dispatch`: estimators, metrics and kernels over arrays of the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import config_context, metrics, model_selection, pipeline
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.metrics import pairwise
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import ocl_runtime as ocl

_RNG = np.random.default_rng(0)
SAMPLES = _RNG.standard_normal((20, 5)).astype("f4")
SQUARE = (SAMPLES @ SAMPLES.T).astype("f4")
TARGET = np.abs(SAMPLES @ np.arange(5, dtype="f4")) + 0.1

ESTIMATORS: dict[str, tuple[Callable[[], Any], np.ndarray, str]] = {
    "StandardScaler": (StandardScaler, SAMPLES, "transform"),
    "MinMaxScaler": (MinMaxScaler, SAMPLES, "transform"),
    "MaxAbsScaler": (MaxAbsScaler, SAMPLES, "transform"),
    "Normalizer": (Normalizer, SAMPLES, "transform"),
    "Binarizer": (Binarizer, SAMPLES, "transform"),
    "PolynomialFeatures": (lambda: PolynomialFeatures(2), SAMPLES, "transform"),
    "KernelCenterer": (KernelCenterer, SQUARE, "transform"),
    "RobustScaler": (RobustScaler, SAMPLES, "transform"),
    "PowerTransformer": (PowerTransformer, SAMPLES, "transform"),
    "SimpleImputer": (SimpleImputer, SAMPLES, "transform"),
    "FunctionTransformer": (lambda: FunctionTransformer(lambda x: x * 2), SAMPLES, "transform"),
    "PoissonRegressor": (PoissonRegressor, SAMPLES, "predict"),
    "LinearRegression": (LinearRegression, SAMPLES, "predict"),
    "Lasso": (lambda: Lasso(alpha=0.1), SAMPLES, "predict"),
    "Ridge": (lambda: Ridge(solver="svd"), SAMPLES, "predict"),
    "RidgeCV": (RidgeCV, SAMPLES, "predict"),
    "Pipeline": (lambda: pipeline.make_pipeline(StandardScaler(), PoissonRegressor()), SAMPLES, "predict"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_compute_with_arrays_of_the_device(name: str) -> None:
    make, samples, method = ESTIMATORS[name]
    expected = getattr(make().fit(samples, TARGET), method)(samples)
    with config_context(array_api_dispatch=True):
        x, y = ocl.asarray(samples), ocl.asarray(TARGET)
        found = getattr(make().fit(x, y), method)(x)
    assert isinstance(found, ocl.Array)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-5)


CLASSES = np.repeat([0, 1], 10)
GROUPS = (SAMPLES + 2 * CLASSES[:, None]).astype("f4")
CLASSIFIERS: dict[str, tuple[Callable[[], Any], str]] = {
    "RidgeClassifier": (lambda: RidgeClassifier(solver="svd"), "predict"),
    "LinearDiscriminantAnalysis": (LinearDiscriminantAnalysis, "predict_proba"),
    "GaussianNB": (GaussianNB, "predict_proba"),
    "LogisticRegression": (LogisticRegression, "predict_proba"),
    "GaussianMixture": (lambda: GaussianMixture(2, init_params="random", random_state=0), "predict_proba"),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_are_learnt(name: str) -> None:
    make, method = CLASSIFIERS[name]
    expected = getattr(make().fit(GROUPS, CLASSES), method)(GROUPS)
    with config_context(array_api_dispatch=True):
        x = ocl.asarray(GROUPS)
        found = getattr(make().fit(x, ocl.asarray(CLASSES)), method)(x)
    assert isinstance(found, ocl.Array)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-4)


COMPONENTS: dict[str, dict[str, Any]] = {
    "full": {"svd_solver": "full"},
    "whitened": {"svd_solver": "full", "whiten": True},
    "of the covariance": {"svd_solver": "covariance_eigh"},
    "randomized": {"svd_solver": "randomized", "random_state": 0, "power_iteration_normalizer": "QR"},
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_principal_components(name: str) -> None:
    expected = PCA(3, **COMPONENTS[name]).fit(SAMPLES)
    with config_context(array_api_dispatch=True):
        x = ocl.asarray(SAMPLES)
        found = PCA(3, **COMPONENTS[name]).fit(x)
        coordinates = found.transform(x)
        back = found.inverse_transform(coordinates)
    np.testing.assert_allclose(coordinates.numpy(), expected.transform(SAMPLES), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(back.numpy(), expected.inverse_transform(expected.transform(SAMPLES)), atol=1e-4)


METRICS = (
    "mean_squared_error", "mean_absolute_error", "r2_score", "max_error", "mean_absolute_percentage_error",
    "mean_tweedie_deviance", "explained_variance_score", "mean_squared_log_error", "median_absolute_error",
    "root_mean_squared_error",
)  # fmt: skip


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name: str) -> None:
    function, other = getattr(metrics, name), TARGET[::-1].copy()
    with config_context(array_api_dispatch=True):
        found = function(ocl.asarray(TARGET), ocl.asarray(other))
    assert float(found) == pytest.approx(float(function(TARGET, other)), rel=1e-5)


OF_CLASSES: dict[str, dict[str, Any]] = {
    "accuracy_score": {}, "zero_one_loss": {}, "hamming_loss": {}, "balanced_accuracy_score": {},
    "cohen_kappa_score": {}, "confusion_matrix": {}, "multilabel_confusion_matrix": {}, "v_measure_score": {},
    "adjusted_rand_score": {}, "f1_score": {"average": "macro"}, "precision_score": {"average": "weighted"},
    "recall_score": {"average": "micro"}, "jaccard_score": {"average": "macro"},
    "fbeta_score": {"average": "macro", "beta": 0.5},
}  # fmt: skip
OF_PROBABILITIES = ("brier_score_loss", "log_loss", "d2_brier_score", "d2_log_loss_score", "average_precision_score")


@pytest.mark.parametrize("name", [*OF_CLASSES, *OF_PROBABILITIES])
def test_metrics_of_classes(name: str) -> None:
    function, options = getattr(metrics, name), OF_CLASSES.get(name, {})
    other = _RNG.random(20) if name in OF_PROBABILITIES else np.roll(CLASSES, 3)
    with config_context(array_api_dispatch=True):
        found = function(ocl.asarray(CLASSES), ocl.asarray(other), **options)
    np.testing.assert_allclose(np.asarray(found), function(CLASSES, other, **options), rtol=1e-5)


KERNELS = (
    "cosine_similarity", "euclidean_distances", "rbf_kernel", "linear_kernel", "polynomial_kernel", "sigmoid_kernel",
    "laplacian_kernel", "manhattan_distances",
)  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    function = getattr(pairwise, name)
    with config_context(array_api_dispatch=True):
        found = function(ocl.asarray(SAMPLES), ocl.asarray(SAMPLES[:7]))
    assert isinstance(found, ocl.Array)
    np.testing.assert_allclose(found.numpy(), function(SAMPLES, SAMPLES[:7]), rtol=1e-4, atol=1e-5)


def test_samples_are_split() -> None:
    expected = model_selection.train_test_split(SAMPLES, TARGET, random_state=0)
    with config_context(array_api_dispatch=True):
        found = model_selection.train_test_split(ocl.asarray(SAMPLES), ocl.asarray(TARGET), random_state=0)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, ocl.Array)
        np.testing.assert_array_equal(one.numpy(), other)
