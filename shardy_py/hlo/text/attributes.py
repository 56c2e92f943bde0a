"""Attributes of instructions and the readers of their values.

| reader | text | value |
|---|---|---|
| integers | `{1,0}`, `{{0,1},{2,3}}`, `3` | tuple, tuple of tuples, int |
| groups | also `[2,2]<=[4]`, `[2,2]<=[2,2]T(1,0)`, `mesh['x'=2,'y'=2] {'y'}` | tuple of tuples |
| slices | `{[0:4], [1:9:2]}` | tuple of (start, limit, stride) |
| window | `{size=3x3 pad=0_1x0_1}` | dict from word to tuple |
| padding | `1_4_1x4_8` | tuple of (low, high, interior) |
| word, string, name, names | `LT`, `"target"`, `%body`, `{%a, %b}` | str, str, str, tuple of str |
| flag | `true` | bool |
| raw | anything | its text |

>>> read_attribute(HloCursor("window={size=1x3 pad=0_0x1_1}", "-"))
('window', {'size': (1, 3), 'pad': ((0, 0), (1, 1))})
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

from shardy_py.base.deferred import np
from shardy_py.indexing.layout import HloCursor, check_rank

_MAX_DEVICES = 1 << 20
AxisPart = tuple[str, int, int]
"""An axis of a mesh or a part of one: name, the size of the parts major to it, its own size."""


def read_attribute(cursor: HloCursor) -> tuple[str, Any]:
    """Reads the attribute `name=value` at the cursor."""
    start = cursor.offset
    name = cursor.name("the name of an attribute")
    reader = READERS.get(name)
    if reader is None:
        cursor.error(f"unknown attribute '{name}'", start)
    cursor.expect("=")
    return name, reader(cursor)


def integers(cursor: HloCursor) -> Any:
    """An integer, or integers in braces, which may nest."""
    if not cursor.at("{"):
        return cursor.integer()
    with cursor.nested():
        return tuple(cursor.items(lambda: _integer_or_list(cursor), "{", "}"))


def _integer_or_list(cursor: HloCursor) -> object:
    start = cursor.offset
    value = integers(cursor)
    if isinstance(value, int) and value < 0:
        cursor.error(f"expected non-negative numbers, got {value}", start)
    return value


def groups(cursor: HloCursor) -> Any:
    """Groups of devices, as a list, as a reshaped and transposed iota, or along axes of a mesh."""
    start = cursor.offset
    if cursor.token == "mesh":
        return _mesh_groups(cursor)
    if cursor.token != "[":
        return integers(cursor) if cursor.token == "{" else cursor.raw()
    shape = _bracketed(cursor)
    cursor.expect("<=")
    counted = _bracketed(cursor)
    order = tuple(range(len(counted)))
    if cursor.accept("T"):
        order = _bracketed(cursor, "(", ")")
    found = iota_groups(shape, counted, order)
    if found is None:
        cursor.error("the shape of the groups does not match the number of devices", start)
    return found


def iota_groups(
    shape: tuple[int, ...], counted: tuple[int, ...], order: tuple[int, ...]
) -> tuple[tuple[int, ...], ...] | None:
    """The groups of an iota of that many devices, transposed; None if the numbers do not match.

    >>> iota_groups((2, 2), (2, 2), (1, 0))
    ((0, 2), (1, 3))
    """
    is_permutation = sorted(order) == list(range(len(counted)))
    if len(shape) != 2 or not is_permutation or not _devices(shape) == _devices(counted) <= _MAX_DEVICES:
        return None
    return _iota_groups(shape, counted, order)


def _devices(sizes: tuple[int, ...]) -> int:
    """The number of devices, or a greater number than the limit if a size is invalid or they are too many."""
    count = 1
    for size in sizes:
        count *= size
        if not 0 < count <= _MAX_DEVICES:
            return _MAX_DEVICES + 1
    return count


@lru_cache(maxsize=64)
def _iota_groups(
    shape: tuple[int, ...], counted: tuple[int, ...], order: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    # Without dimensions of size 1 there are at most 20, which numpy can hold.
    kept = [dimension for dimension in order if counted[dimension] > 1]
    sizes = [size for size in counted if size > 1]
    devices = np.arange(_devices(counted)).reshape(sizes).transpose(np.argsort(np.argsort(kept)))
    groups: list[list[int]] = devices.reshape(shape).tolist()
    return tuple(map(tuple, groups))


def _mesh_groups(cursor: HloCursor) -> tuple[tuple[int, ...], ...]:
    """Groups along axes: `mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x','y':(1)2}`.

    Each group has the devices that differ along the listed axes only, the first axis major. `device_ids`
    is the order of the devices, a list or an iota; without it they are in row-major order.
    """
    start = cursor.offset
    cursor.expect("mesh")
    axes = tuple(cursor.items(lambda: _mesh_axis(cursor), "[", "]"))
    sizes = dict(axes)
    count = _devices(tuple(size for _, size in axes))
    if len(sizes) < len(axes) or count > _MAX_DEVICES:
        cursor.error("invalid mesh: axes must have different names, and sizes of at least 1", start)
    order: tuple[int, ...] = ()
    if cursor.accept(","):
        cursor.expect("device_ids")
        cursor.expect("=")
        order = _device_order(cursor, count)
    listed = tuple(cursor.items(lambda: _mesh_axis_part(cursor, sizes), "{", "}"))
    by_axis = sorted(listed)
    if any(a[0] == b[0] and b[1] % (a[1] * a[2]) for a, b in pairwise(by_axis)):
        cursor.error("the axes of groups must not overlap", start)
    return _groups_along(axes, order, listed)


def _mesh_axis(cursor: HloCursor) -> tuple[str, int]:
    name = cursor.take("string", "the name of an axis")
    cursor.expect("=")
    return name, cursor.integer()


def _mesh_axis_part(cursor: HloCursor, sizes: dict[str, int]) -> AxisPart:
    """An axis, or a sub-axis `'y':(1)2`."""
    start = cursor.offset
    name = cursor.take("string", "the name of an axis")
    if name not in sizes:
        cursor.error(f"the mesh has no axis {name}", start)
    if not cursor.accept(":"):
        return name, 1, sizes[name]
    cursor.expect("(")
    before = cursor.integer()
    cursor.expect(")")
    size = cursor.integer()
    if before < 1 or size < 1 or sizes[name] % (before * size):
        cursor.error(f"axis {name} of size {sizes[name]} has no sub-axis ({before}){size}", start)
    return name, before, size


def _device_order(cursor: HloCursor, count: int) -> tuple[int, ...]:
    start = cursor.offset
    cursor.expect("(")
    if cursor.at("["):
        counted = _bracketed(cursor)
        order = _bracketed(cursor, "(", ")") if cursor.accept("T") else tuple(range(len(counted)))
        if sorted(order) != list(range(len(counted))) or _devices(counted) != count:
            cursor.error("the device ids do not match the number of devices", start)
        cursor.expect(")")
        (ids,) = _iota_groups((1, count), counted, order)
        return ids
    ids = [cursor.integer()]
    while cursor.accept(","):
        ids.append(cursor.integer())
    cursor.expect(")")
    if sorted(ids) != list(range(count)):
        cursor.error("the device ids do not match the number of devices", start)
    return tuple(ids)


@lru_cache(maxsize=64)
def _groups_along(
    axes: tuple[tuple[str, int], ...], order: tuple[int, ...], listed: tuple[AxisPart, ...]
) -> tuple[tuple[int, ...], ...]:
    """Returns the groups: axes are split at the bounds of the listed sub-axes, and these moved to the end."""
    parts: list[AxisPart] = []
    for name, size in axes:
        own = [part for part in listed if part[0] == name]
        bounds = sorted({1, size, *(b for _, before, n in own for b in (before, before * n))})
        parts += [(name, low, high // low) for low, high in pairwise(bounds)]
    grouped = [
        n
        for name, before, size in listed
        for n, (other, low, part) in enumerate(parts)
        if other == name and before <= low and low * part <= before * size
    ]
    rest = [n for n in range(len(parts)) if n not in grouped]
    count = prod(size for _, size in axes)
    devices = np.array(order or range(count)).reshape([size for _, _, size in parts])
    rows: list[list[int]] = (
        devices.transpose((*rest, *grouped)).reshape(-1, prod(parts[n][2] for n in grouped)).tolist()
    )
    return tuple(map(tuple, rows))


def _bracketed(cursor: HloCursor, opening: str = "[", closing: str = "]") -> tuple[int, ...]:
    return tuple(cursor.items(cursor.integer, opening, closing))


def slices(cursor: HloCursor) -> tuple[tuple[int, int, int], ...]:
    """One `[start:limit:stride]` for each dimension; the default stride is 1."""
    return tuple(cursor.items(lambda: _slice(cursor), "{", "}"))


def _slice(cursor: HloCursor) -> tuple[int, int, int]:
    cursor.expect("[")
    start = cursor.integer()
    cursor.expect(":")
    limit = cursor.integer()
    stride = cursor.integer() if cursor.accept(":") else 1
    if stride <= 0:
        cursor.error("the stride of a slice must be positive")
    cursor.expect("]")
    return start, limit, stride


def window(cursor: HloCursor) -> dict[str, tuple[object, ...]]:
    """Words, each with one number or pair for each dimension."""
    cursor.expect("{")
    fields: dict[str, tuple[object, ...]] = {}
    while not cursor.accept("}"):
        word = cursor.one_of(*_WINDOW_WORDS)
        cursor.expect("=")
        fields[word] = _pairs(cursor) if word == "pad" else _sizes(cursor)
    rank = len(fields.get("size", ()))
    if any(len(values) != rank for values in fields.values()):
        cursor.error("the fields of a window must have one value for each dimension")
    return fields


_WINDOW_WORDS = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")


def _by_dimension(cursor: HloCursor) -> list[str]:
    """The parts of the current token, one for each dimension."""
    with cursor.errors_at(cursor.offset):
        check_rank(cursor.token.count("x") + 1, "dimensions")
    return cursor.advance().split("x")


def _sizes(cursor: HloCursor) -> tuple[int, ...]:
    if cursor.kind not in ("sizes", "number"):
        cursor.unexpected("sizes such as 3x3")
    start = cursor.offset
    words = _by_dimension(cursor)
    if not all(word.isdigit() for word in words):
        cursor.error("expected sizes such as 3x3", start)
    return tuple(map(cursor.integer_value, words))


def _pairs(cursor: HloCursor) -> tuple[tuple[int, ...], ...]:
    if cursor.kind != "pad":
        cursor.unexpected("paddings such as 0_1x0_1")
    start = cursor.offset
    pairs = tuple(tuple(map(cursor.integer_value, part.split("_"))) for part in _by_dimension(cursor))
    if any(len(pair) != 2 for pair in pairs):
        cursor.error("expected two numbers for each dimension", start)
    return pairs


def padding(cursor: HloCursor) -> tuple[tuple[int, ...], ...]:
    """Low, high and interior padding of each dimension; the default of the latter is 0."""
    if cursor.kind != "pad":
        if cursor.raw().strip('"') == "":
            return ()
        cursor.error("expected paddings such as 1_4_1x4_8_0")
    parts = [tuple(map(cursor.integer_value, part.split("_"))) for part in _by_dimension(cursor)]
    return tuple(part if len(part) == 3 else (*part, 0) for part in parts)


def word(cursor: HloCursor) -> str:
    """A keyword, a number or labels, as text."""
    if cursor.kind not in ("name", "number", "labels"):
        cursor.unexpected("a word")
    return cursor.advance()


def string(cursor: HloCursor) -> str:
    """A quoted string, without quotes."""
    return cursor.take("string", "a quoted string")[1:-1]


def name(cursor: HloCursor) -> str:
    """The name of a computation or instruction."""
    return cursor.name("the name of a computation")


def names(cursor: HloCursor) -> tuple[str, ...]:
    """Names in braces, or a single one."""
    return tuple(cursor.items(lambda: name(cursor), "{", "}")) if cursor.at("{") else (name(cursor),)


def flag(cursor: HloCursor) -> bool:
    """`true` or `false`; `1` and `0` in older texts."""
    if cursor.token not in _FLAGS:
        cursor.unexpected("true or false")
    return _FLAGS[cursor.advance()]


_FLAGS = {"true": True, "false": False, "1": True, "0": False}


def raw(cursor: HloCursor) -> str:
    """Any value, as text."""
    return cursor.raw()


_NAMES: dict[Callable[[HloCursor], object], str] = {
    integers: """dimensions iota_dimension dynamic_slice_sizes slice_sizes lhs_batch_dims rhs_batch_dims
        lhs_contracting_dims rhs_contracting_dims lhs_ragged_dims rhs_group_dims offset_dims
        collapsed_slice_dims start_index_map index_vector_dim operand_batching_dims
        start_indices_batching_dims update_window_dims inserted_window_dims scatter_dims_to_operand_dims
        input_batching_dims scatter_indices_batching_dims feature_group_count batch_group_count fft_length
        feature_index exponent_bits mantissa_bits index channel_id source_target_pairs k
        cross_program_prefetch_index num_carries inferred_dimension delta""",
    groups: "replica_groups",
    slices: "slice",
    window: "window",
    padding: "padding",
    word: """direction order type fft_type distribution kind algorithm transpose_a dim_labels padding_type
        schedule api_version epsilon mode convolution_kind""",
    string: "custom_call_target infeed_config outfeed_config async_execution_thread",
    name: "to_apply condition body select scatter true_computation false_computation",
    names: "calls called_computations branch_computations control-predecessors",
    flag: """is_stable indices_are_sorted unique_indices left_side lower unit_diagonal constrain_layout
        use_global_device_ids is_host_transfer custom_call_has_side_effect largest is_reverse
        is_associative is_composite""",
    raw: """metadata sharding frontend_attributes backend_config statistics origin original_value
        operand_precision result_accuracy operand_layout_constraints output_to_operand_aliasing literal
        outfeed_shape domain sparsity sparsity_config parameter_replication""",
}
READERS: dict[str, Callable[[HloCursor], Any]] = {
    listed: reader for reader, text in _NAMES.items() for listed in text.split()
}
"""The reader of each attribute's value."""
