"""Custom calls as functions over arrays, by target: of JAX, of XLA, and those that users register.

    register_custom_call("my_scale", lambda call, x: x * call.attributes["factor"])        # facet.py

Not here: LAPACK's routines (`lapack.py`), targets that need the state of a run (`run/interpret/`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute import lapack
from shardy_py.ops.compute.lanes import TOKEN, Array, Compute, dtype_of, in_lanes, lanes_of
from shardy_py.ops.compute.movement import sizes_in
from shardy_py.ops.compute.precision import NARROW_FLOATS
from shardy_py.ops.compute.random import rng_bit_generator
from shardy_py.ops.custom_calls import CALL, OFFLOADS
from shardy_py.ops.reads import names
from shardy_py.ops.record import Attributes, ranked
from shardy_py.ops.table import call_target


@dataclass(frozen=True, slots=True)
class CustomCall:
    """A custom call, as the function of its target sees it.

    attributes: of the op, with those of its configuration, where that is a dictionary, and `mhlo.attributes`.
    results: the types that the function must return.
    """

    target: str
    attributes: Attributes
    results: tuple[TensorType | None, ...]


Function = Callable[..., Any]
"""(call, *arrays) -> an array, or a sequence of all results."""
_NESTED = ("backend_config", "mhlo.backend_config", "mhlo.attributes")


def call_of(record: OpRecord) -> CustomCall:
    """Returns a custom call."""
    attributes = dict(record.attributes)
    for name in _NESTED:
        nested = attributes.get(name)
        if is_mapping(nested):
            attributes |= nested
    return CustomCall(attributes.get("call_target_name", ""), attributes, record.results)


def function_of_user(function: Function, *, has_lanes: bool) -> Compute:
    """Returns the function of a target from one of users; see `register_custom_call`."""

    def arrays(call: CustomCall, operands: Sequence[Array]) -> tuple[Array, ...]:
        if has_lanes:
            return _checked(call, _sequence(call, function(call, *operands)), 1)
        lanes = lanes_of(*operands)
        expanded = [in_lanes(operand, lanes) for operand in operands]
        parts = [
            _checked(call, _sequence(call, function(call, *(array[lane] for array in expanded))), 0)
            for lane in range(lanes)
        ]
        return tuple(map(np.stack, zip(*parts, strict=True)))

    def compute(record: OpRecord, *operands: Any) -> tuple[object, ...]:
        call = call_of(record)
        tensors = replace(call, results=tuple(result for result in call.results if result is not None))
        made = iter(arrays(tensors, [operand for operand in operands if operand is not TOKEN]))
        return tuple(TOKEN if result is None else next(made) for result in call.results)

    return compute


def _sequence(call: CustomCall, given: object) -> Sequence[object]:
    results = given if is_sequence(given) else () if given is None else (given,)
    if len(results) != len(call.results):
        raise ShardyError.unexpected(
            f"the function of custom call @{call.target}",
            expected=f"{len(call.results)} results",
            got=f"{len(results)}",
        )
    return results


def _checked(call: CustomCall, results: Sequence[object], lanes: int) -> tuple[Array, ...]:
    """lanes: the number of axes before those of the type."""
    arrays: list[Array] = []
    for number, (result, tensor) in enumerate(zip(results, call.results, strict=True)):
        array, dtype = np.asarray(result), dtype_of(tensor)
        sizes = array.shape[lanes:]
        wanted = ranked(tensor).shape
        if array.dtype != dtype or not _is_shape(sizes, ranked(tensor)):
            raise ShardyError.unexpected(
                f"result {number} of the function of custom call @{call.target}",
                expected=f"shape {wanted} of {dtype}",
                got=f"shape {sizes} of {array.dtype}",
            )
        arrays.append(array)
    return tuple(arrays)


def _is_shape(sizes: Sequence[int], type_: TensorType) -> bool:
    pairs = zip(sizes, type_.shape, strict=False)
    return len(sizes) == len(type_.shape) and all(b in (None, a) for a, b in pairs)


def _same(record: OpRecord, *operands: Array) -> Array | tuple[Array, ...]:
    """Returns the operands: the target says where they lie, or how they are compiled."""
    kept = operands[: len(record.results)]
    return kept[0] if len(kept) == 1 else kept


def check_call(record: OpRecord) -> None:
    """Raises `ShardyError` if a call that only says where its operands lie changes their types."""
    target = call_target(record)
    if target not in (*_SAME, *_SHAPES, *OFFLOADS):
        return
    for given, made in zip(record.operands, record.results, strict=False):
        if given is None or made is None or _may_be_same(given, made):
            continue
        raise ShardyError.unsupported(
            f"custom call @{target} from {_type_text(given)} to {_type_text(made)}",
            remedy="" if target not in _SHAPES else _REMEDY,
        )


_REMEDY = "lower with the Shardy partitioner, which has sdy.manual_computation"


def _may_be_same(left: TensorType, right: TensorType) -> bool:
    if left.element != right.element or len(left.shape) != len(right.shape):
        return False
    return all(a == b or None in (a, b) for a, b in zip(left.shape, right.shape, strict=True))


def _type_text(tensor: TensorType) -> str:
    return "x".join(("?" if size is None else str(size)) for size in tensor.shape) + f"x{tensor.element}"


def _unary(name: str) -> Compute:
    """The computation of another op, of one operand: a second one would be taken for the result's array."""
    other = _same_as(name)

    def compute(record: OpRecord, operand: Array) -> object:
        return other(record, operand)

    return compute


def _same_as(name: str) -> Compute:
    """Returns the function of an op, which other versions call by a target."""

    def compute(record: OpRecord, *operands: Array) -> object:
        from shardy_py.ops.compute import compute_of

        same = OpRecord(name, record.operands, record.results, call_of(record).attributes)
        return compute_of(same)(same, *operands)

    return compute


def _order(operand: Array, axis: int, *, is_largest: bool) -> Array:
    """Returns the indices that sort an axis; equal elements stay in order."""
    key: Array = operand.astype(NARROW_FLOATS.get(operand.dtype, operand.dtype), copy=False)
    if is_largest:
        key = np.invert(key) if key.dtype.kind in "iub" else -key
    return np.argsort(key, axis=axis, kind="stable")


def _top_k(record: OpRecord, operand: Array) -> tuple[Array, Array]:
    """Returns the largest or smallest elements of the last dimension, and their indices."""
    attributes = call_of(record).attributes
    if attributes.get("largest", True):
        return _same_as("chlo.top_k")(record, operand)
    indices = _order(operand, -1, is_largest=False)[..., : attributes["k"]]
    return np.take_along_axis(operand, indices, -1), indices.astype(np.int32)


def _dynamic_top_k(record: OpRecord, operand: Array, count: Array) -> tuple[Array, Array]:
    (k,) = sizes_in(record, count.reshape(len(count), 1))
    return _top_k(replace(record, attributes={"k": k}), operand)


def _approximate_top_k(
    record: OpRecord, operand: Array, indices: Array, first: Array, _: Array, count: Array | None = None
) -> object:
    """Returns exact ones, as on a CPU; the initial value is the smallest number if the largest are sought.

    count: how many, if the result's size is dynamic.
    """
    result = ranked(record.results[0])
    axis = _reduced_dimension(record)
    size = result.shape[axis] if count is None else sizes_in(record, count.reshape(len(count), 1))[0]
    order = _order(operand, axis + 1, is_largest=bool((first <= 0).all()))
    kept = order[(*[slice(None)] * (axis + 1), slice(0, size))]
    lanes = lanes_of(operand, indices)
    return tuple(
        np.take_along_axis(in_lanes(a, lanes), in_lanes(kept, lanes), axis + 1) for a in (operand, indices)
    )


def _reduced_dimension(record: OpRecord) -> int:
    """Returns the dimension along which the best are sought; `PartialReduce` has its options as JSON."""
    attributes = call_of(record).attributes
    if "reduction_dim" not in attributes:
        attributes = json.loads(attributes["backend_config"])
    return attributes["reduction_dim"]


def _x64_combine(record: OpRecord, low: Array, high: Array) -> Array:
    return (low | (high.astype(np.uint64) << np.uint64(32))).astype(dtype_of(record.results[0]))


def _x64_split(shift: int) -> Compute:
    def compute(record: OpRecord, operand: Array) -> Array:
        return (operand >> shift & 0xFFFFFFFF).astype(dtype_of(record.results[0]))

    return compute


def _eigh(record: OpRecord, operand: Array) -> object:
    """backend_config: whether the lower triangle is read, and more about the algorithm."""
    is_lower = str(record.attributes.get("backend_config") or "1")[0] == "1"
    return lapack.syevd({"uplo": ord("L" if is_lower else "U")}, operand)[:2]


def _qr(record: OpRecord, operand: Array) -> object:
    return lapack.geqrf({}, operand)


def _reflectors(record: OpRecord, packed: Array, factors: Array) -> Array:
    return lapack.orgqr({}, packed, factors)


def _lu(record: OpRecord, operand: Array) -> tuple[Array, Array, Array]:
    factors, pivots, _ = lapack.getrf({}, operand)
    return factors, pivots - 1, _permutation(pivots - 1, operand.shape[-2])


def _lu_permutation(record: OpRecord, pivots: Array) -> Array:
    size = ranked(record.results[0]).shape[-1]
    return _permutation(pivots, size or 0)


def _permutation(pivots: Array, size: int) -> Array:
    """Returns the order of rows after swaps: of row i with row pivots[..., i], in order."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    rows = np.tile(np.arange(size, dtype=np.int32), (len(flat), 1))
    each = np.arange(len(flat))
    for row, other in enumerate(flat.T):
        swapped = rows[each, other]
        rows[each, other] = rows[:, row]
        rows[:, row] = swapped
    return rows.reshape(*pivots.shape[:-1], size)


def _shape_assertion(record: OpRecord, holds: Array, *values: Array) -> tuple[()]:
    """An assertion of JAX's export about dynamic shapes; its message refers to values as {0}."""
    if not holds.all():
        lane = int(np.argmin(holds))
        message = str(call_of(record).attributes.get("error_message", "a shape assertion"))
        raise ShardyError(message.format(*(int(in_lanes(value, len(holds))[lane]) for value in values)))
    return ()


def _dynamic_bits(record: OpRecord, state: Array, shape: Array) -> object:
    new_state, bits = record.results
    typed = TensorType(sizes_in(record, shape), ranked(bits).element)
    return rng_bit_generator(replace(record, results=(new_state, typed)), state)


_SAME = names("""annotate_device_placement InspectSharding LayoutConstraint Sharding
    xla.megascale.provide_metadata xla.sdy.FuncResultSharding stablehlo.shape_refinement_operand_wrapper""")
_SHAPES = names("""SPMDFullToShardShape SPMDShardToFullShape xla.sdy.GlobalToLocalShape
    xla.sdy.LocalToGlobalShape""")
_OF_CHLO = names("acos acosh asin asinh atan atanh cosh erf erf_inv sinh tan")
_TARGETS: dict[str, Compute] = {
    **dict.fromkeys((*_SAME, *OFFLOADS, *_SHAPES), _same),
    **{f"mhlo.{name}": _unary(f"chlo.{name}") for name in _OF_CHLO},
    **lapack.ROUTINES,
    "ApproxTopK": _approximate_top_k,
    "Eigh": _eigh,
    "LuDecomposition": _lu,
    "PartialReduce": _approximate_top_k,
    "ProductOfElementaryHouseholderReflectors": _reflectors,
    "Qr": _qr,
    "X64Combine": _x64_combine,
    "X64SplitHigh": _x64_split(32),
    "X64SplitLow": _x64_split(0),
    "cu_lu_pivots_to_permutation": _lu_permutation,
    "mhlo.ragged_dot": _same_as("chlo.ragged_dot"),
    "mhlo.topk": _top_k,
    "shape_assertion": _shape_assertion,
    "stablehlo.dynamic_approx_top_k": _approximate_top_k,
    "stablehlo.dynamic_rng_bit_generator": _dynamic_bits,
    "stablehlo.dynamic_top_k": _dynamic_top_k,
}
COMPUTE: dict[str, Compute] = {f"{CALL}@{target}": function for target, function in _TARGETS.items()}
"""The function of each target's row."""


def guarded(target: str, function: Compute) -> Compute:
    """Returns the function of a target so that it refuses types that it cannot take: no verifier does.

    Functions that users registered stay as they are.
    """
    if _TARGETS.get(target) is not function:
        return function

    def compute(record: OpRecord, *operands: object) -> object:
        try:
            made: Array | tuple[Array, ...] = function(record, *operands)
            results = made if isinstance(made, tuple) else (made,)
            pairs = zip(results, record.results, strict=True)
            fits = all(value is TOKEN or type_ is None or _is_of(value, type_) for value, type_ in pairs)
        except (ShardyError, MemoryError):
            raise
        except Exception:  # numpy raises many kinds
            fits, made = False, ()
        if not fits:
            given = ", ".join("?" if type_ is None else _type_text(type_) for type_ in record.operands)
            wanted = ", ".join("?" if type_ is None else _type_text(type_) for type_ in record.results)
            raise ShardyError.unsupported(f"custom call @{target} from ({given}) to ({wanted})")
        return made

    return compute


def _is_of(array: Array, type_: TensorType) -> bool:
    return array.dtype == dtype_of(type_) and _is_shape(array.shape[1:], type_)
