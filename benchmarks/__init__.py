"""Benchmarks: ratios of CPU time measured in one run. `make bench` runs them."""

import os

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

# Set before numpy is imported: waiting BLAS threads use CPU time, which is what we measure.
for name in ONE_THREAD:
    os.environ[name] = "1"
