"""Ops as functions over numpy arrays: one small pure function an op.

    compute_of(record)(record, *operands)

Arrays have a leading axis of **lanes**: the devices that run the op in lockstep, or the elements to which a
region is applied. Its size is n, or 1 if all lanes hold the same value; the result of operands with one lane
has one lane. Behind it are the dimensions of the tensor type, with the numpy type of
`layout.element_type`. Functions never write to their operands. They leave numpy's floating-point warnings to
the caller, who turns them off once: `np.errstate(all="ignore")`.

The functions of a family are in one module, and listed in its table `COMPUTE` by the name of the op's row
(`ops/table.py`): "stablehlo.add", "stablehlo.custom_call@Eigh"; the tables make the facet `COMPUTED`
(`facet.py`). Those of ops with regions take the regions as
callables between record and operands. Sections of StableHLO's specification are named in the docstrings.

Not here: control flow, calls, communication and effects, which need the state of a run (`run/interpret/`).

>>> from shardy_py.ops import OpRecord, TensorType
>>> import numpy as np
>>> row = OpRecord("stablehlo.reverse", (TensorType((3,)),), (TensorType((3,)),), {"dimensions": (0,)})
>>> compute_of(row)(row, np.float32([[1, 2, 3]]))
array([[3., 2., 1.]], dtype=float32)
"""

from __future__ import annotations

from shardy_py.base.errors import ShardyError
from shardy_py.ops import OpRecord
from shardy_py.ops.compute import quantization
from shardy_py.ops.compute.custom_calls import CustomCall
from shardy_py.ops.compute.facet import BUILT_IN, COMPUTED, ComputedRow, register_custom_call
from shardy_py.ops.compute.lanes import Array, Compute, RegionFunction
from shardy_py.ops.table import row_name


def compute_of(record: OpRecord) -> Compute:
    """Returns the function of an op. Raises `ShardyError` if there is none."""
    function = COMPUTED.of(row_name(record)).function
    if function is None:
        raise ShardyError.unsupported(f"running '{row_name(record)}'")
    is_plain = not any(map(quantization.is_quantized, (*record.operands, *record.results)))
    return function if is_plain else quantization.quantized(function)


__all__ = [
    "BUILT_IN",
    "COMPUTED",
    "Array",
    "Compute",
    "ComputedRow",
    "CustomCall",
    "RegionFunction",
    "compute_of",
    "register_custom_call",
]
