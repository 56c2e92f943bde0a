"""Scans: a region applied to the slices along a dimension, one after the other."""

from __future__ import annotations

import numpy as np

from shardy_py.ops import OpRecord, integers
from shardy_py.ops.compute.lanes import Array, Compute, RegionFunction, dtype_of, in_lanes, lanes_of


def scan(record: OpRecord, body: RegionFunction, *operands: Array) -> tuple[Array, ...]:
    """`chlo.scan`: outputs are stacked along the dimension, carries go to the next slice.

    A reverse scan starts at the last slice; each output stays at the place of its inputs.
    """
    axis = record.attributes["dimension"] + 1
    count, _ = integers(record.attributes, "operandSegmentSizes")
    inputs, carries = operands[:count], operands[count:]
    output_count = len(record.results) - len(carries)
    size: int = inputs[0].shape[axis] if inputs else record.attributes["scan_dim_size"]
    steps = range(size)[:: -1 if record.attributes.get("is_reverse") else 1]
    outputs: list[Array | None] = [None] * output_count
    for step in steps:
        slices = (values[(*(slice(None),) * axis, step)] for values in inputs)
        results = body(*slices, *carries)
        carries = results[output_count:]
        for number, result in enumerate(results[:output_count]):
            outputs[number] = _placed(outputs[number], result, axis, step, size)
    lanes = lanes_of(*operands)
    for number, output in enumerate(outputs):
        if output is None:
            tensor = record.results[number]
            assert tensor is not None
            outputs[number] = np.empty((lanes, *(length or 0 for length in tensor.shape)), dtype_of(tensor))
    return (*(output for output in outputs if output is not None), *carries)


def _placed(output: Array | None, result: Array, axis: int, step: int, size: int) -> Array:
    """Returns the output with the result at that step; made when there is none, with more lanes if needed."""
    if output is None:
        output = np.empty((*result.shape[:axis], size, *result.shape[axis:]), result.dtype)
    elif len(output) < len(result):
        output = np.array(in_lanes(output, len(result)))
    output[(*(slice(None),) * axis, step)] = result
    return output


COMPUTE: dict[str, Compute] = {"chlo.scan": scan}
"""The function of each op."""
