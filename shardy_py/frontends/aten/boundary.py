"""The boundaries of a DTensor plan in a training step: `shardy_py::boundary(x, name)`, which is x.

Not here: where they are (`../torch/boundaries.py`), the constraints that replace them
(`../torch/constraints.py`).
"""

from __future__ import annotations

from shardy_py.frontends.builder import RankedTensorType, Tensor, ops

TARGET = "shardy_py.boundary"
"""The custom call of a boundary; its `backend_config` is the name."""


def boundary(out: RankedTensorType, x: Tensor, name: str) -> Tensor:
    """A call that constraints replace."""
    return ops.custom_call(TARGET, [x], out, backend_config=name)[0]
