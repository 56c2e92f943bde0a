"""Types and random values of a program's inputs."""

from __future__ import annotations

import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import TensorType
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.quantization import quantization


def dtype_of(type_: TensorType) -> AnyDtype:
    """Returns the numpy type of a tensor's elements; of a quantized one, that of its storage."""
    spelling = type_.element
    return quantization(spelling).storage if spelling[0] == "!" else element_type(spelling).dtype


def random_array(rng: np.random.Generator, type_: TensorType) -> Array:
    """Returns normal floats, integers from 0 to 9; dynamic sizes are 1."""
    dtype, shape = dtype_of(type_), [1 if size is None else size for size in type_.shape]
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if dtype.kind in "iu" or "int" in dtype.name:
        largest = 2 if dtype.name.endswith("int2") else 8 if "int4" in dtype.name else 10
        return rng.integers(0, largest, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)
