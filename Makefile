# make demo     the main job on real input, checked, with every kernel dumped to a folder
# make test     style, types, import rules, and all tests, on the device that ocl-runtime chooses
# make devices  the device tests on every usable device (what runs under Oclgrind is part of make test)
# make lowest   all tests with the lowest versions of all dependencies
# make newest   all tests with the newest Python that is here
# make smoke    other libraries from PyPI over our arrays: matplotlib, pandas, xarray, SciPy, scikit-learn, …
# make nightly  all cases of each test, 25 times as many random programs, interrupts at every place and by 2,000 signals, and the
#               three before
# make offline  generated sources through clang for AMD's and NVIDIA's GPUs and to SPIR-V (needs clang and llvm-spirv), and
#               where there are clang 19 and ocloc, as .ci/ocloc unpacks it, with matrix instructions of AMD and Intel
# make bench    the figures in docs/PERFORMANCE.md, each beside its target; fails where one is missed

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: venv demo test lint devices lowest newest nightly smoke offline bench clean

venv: $(VENV)/ready

# A CPU driver from PyPI is added only where no OpenCL device works without it.
$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ocl-runtime needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[tools,test]'
	$(BIN)/python -m ocl_runtime > /dev/null || $(BIN)/python -m pip install --quiet --editable '.[cpu]'
	touch $@

demo: venv
	$(BIN)/python examples/photograph.py

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

devices: venv
	$(BIN)/python tools/test_devices.py

lowest newest: venv
	$(BIN)/python tools/test_versions.py $@ -n $(JOBS) --dist worksteal

nightly: venv lowest newest smoke
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --timeout 3600 tests/differential \
		$(shell grep -rlE 'mark.sample|NIGHTLY|hypothesis' --include='test_*.py' tests/device tests/unit)

smoke: venv
	$(BIN)/python -m pip install --quiet --editable '.[smoke]'
	$(BIN)/python -m pytest --smoke tests/smoke

offline: venv
	$(BIN)/python -m pytest --offline -rs tests/golden/test_offline.py

bench: venv
	$(BIN)/python tests/bench/spine.py --check
	$(BIN)/python tests/bench/streams.py --check
	$(BIN)/python tests/bench/host_programs.py --check
	$(BIN)/python tests/bench/arrays.py --check
	$(BIN)/python tests/bench/host_path.py --check
	$(BIN)/python tests/bench/turns.py --check
	$(BIN)/python tests/bench/loops.py --check
	$(BIN)/python tests/bench/kernels.py --check

clean:
	rm -rf $(VENV) build dist demo-output
