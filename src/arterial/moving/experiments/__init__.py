"""The experiments of the GPAC paper (§6), on made-up traffic, one a file.

Begin with `cache`; `page` shows them all.
"""

from arterial.moving.experiments.page import experiments_page
from arterial.moving.experiments.results import Results, Scale, run_experiments

__all__ = ["Results", "Scale", "experiments_page", "run_experiments"]
