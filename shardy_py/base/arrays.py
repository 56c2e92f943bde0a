"""numpy arrays and element types of any kind, under one name each.

>>> def rank_of(array: AnyArray) -> int:
...     return array.ndim
>>> rank_of(np.zeros((2, 3)))
2

Not here: arrays with an axis of lanes (`ops/compute/lanes.py`), element types by name
(`indexing/layout/element_types.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

AnyArray = np.ndarray[Any, np.dtype[Any]]
"""An array of any shape and element type."""
AnyDtype = np.dtype[Any]
"""An element type of numpy, or of `ml_dtypes`."""
