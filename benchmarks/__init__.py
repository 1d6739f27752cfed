"""Speed as ratios measured in one run; `make bench` prints them."""

import os

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

# Before numpy is imported: waiting BLAS threads burn processor time, which is what we measure.
for name in ONE_THREAD:
    os.environ[name] = "1"
