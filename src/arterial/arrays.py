"""The type of an array in kernels: whatever its shape and its values, which the kernel's own text says."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
