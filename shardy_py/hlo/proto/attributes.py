"""The fields of `HloInstructionProto` as attributes, with the values of text (`hlo/text/attributes.py`).

A row is an attribute: its name in text, and what it is in a message; None where it is absent. Not here:
operands and computations (`reader.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.proto.enums import ENUMS
from shardy_py.hlo.proto.message import HloMessage
from shardy_py.hlo.proto.shapes import shape_of
from shardy_py.hlo.text.attributes import groups, iota_groups
from shardy_py.hlo.text.opcodes import Values
from shardy_py.indexing.layout import HloCursor

Read = Callable[[HloMessage], object]


def _field(name: str) -> Read:
    """An integer or a bool; absent if it has its default, as text leaves it out."""
    return lambda message: message.integer(name) or None


def _present(name: str) -> Read:
    """A field as it is; absent if the message lacks it."""
    return lambda message: message.values.get(name)


def _word(name: str) -> Read:
    """The word of an enum; absent if it is the first one."""
    return lambda message: word(name, message.integer(name)) if message.integer(name) else None


def word(name: str, number: int) -> str:
    """The word of an enum.

    Raises:
        ShardyError: the number is unknown.
    """
    words = ENUMS[name]
    if not 0 <= number < len(words):
        raise ShardyError(f"unknown {name} {number}")
    return words[number]


def escaped(text: str) -> str:
    r"""A string in HLO text.

    >>> escaped('a"b\\')
    '"a\\"b\\\\"'
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _integers(name: str) -> Read:
    return lambda message: message.integers(name) or None


def _within(name: str, field: str) -> Read:
    """The integers of a field of a message; absent with the message."""
    return lambda message: message.message(name).integers(field) if name in message else None


def _vector_dimension(name: str) -> Read:
    def read(message: HloMessage) -> object:
        return message.message(name).integer("index_vector_dim") if name in message else None

    return read


def _dimensions(message: HloMessage) -> object:
    has_none = message.text("opcode") in _WITHOUT_DIMENSIONS
    return None if has_none or "dimensions" not in message else message.integers("dimensions")


_WITHOUT_DIMENSIONS = frozenset({"iota", "reshape"})
_ALWAYS_WITH = frozenset({"broadcast", "reduce", "transpose", "reverse", "map"})


def _any_dimensions(message: HloMessage) -> object:
    found = _dimensions(message)
    return () if found is None and message.text("opcode") in _ALWAYS_WITH else found


def _iota(message: HloMessage) -> object:
    found = message.integers("dimensions")
    return found[0] if message.text("opcode") == "iota" and found else None


def _window(message: HloMessage) -> object:
    dimensions = message.message("window").messages("dimensions")
    if not dimensions:
        return None

    def each(name: str) -> tuple[int, ...]:
        return tuple(dimension.integer(name) for dimension in dimensions)

    found: dict[str, tuple[object, ...]] = {
        "stride": each("stride"),
        "pad": tuple(zip(each("padding_low"), each("padding_high"), strict=True)),
        "lhs_dilate": each("base_dilation"),
        "rhs_dilate": each("window_dilation"),
        "rhs_reversal": each("window_reversal"),
    }
    kept = {name: values for name, values in found.items() if set(values) != {_PLAIN[name]}}
    return {"size": each("size"), **kept}


_PLAIN: dict[str, object] = {"stride": 1, "pad": (0, 0), "lhs_dilate": 1, "rhs_dilate": 1, "rhs_reversal": 0}
"""The values that text leaves out if all dimensions of a window have them."""


def _labels(message: HloMessage) -> object:
    """`b01f_01io->b01f`."""
    if "convolution_dimension_numbers" not in message:
        return None
    numbers = message.message("convolution_dimension_numbers")
    sides = (("input", "batch", "b", "feature", "f"), ("kernel", "input_feature", "i", "output_feature", "o"))
    sides += (("output", "batch", "b", "feature", "f"),)
    texts = [_side(numbers, *side) for side in sides]
    return f"{texts[0]}_{texts[1]}->{texts[2]}"


def _side(numbers: HloMessage, side: str, first: str, first_mark: str, second: str, second_mark: str) -> str:
    spatial = numbers.integers(f"{side}_spatial_dimensions")
    marks = {numbers.integer(f"{side}_{first}_dimension"): first_mark}
    marks[numbers.integer(f"{side}_{second}_dimension")] = second_mark
    marks |= {dimension: str(number) for number, dimension in enumerate(spatial)}
    if sorted(marks) != list(range(len(spatial) + 2)) or len(spatial) > _MAX_SPATIAL:
        raise ShardyError(f"invalid dimension numbers of the {side} of a convolution")
    return "".join(marks[dimension] for dimension in range(len(marks)))


_MAX_SPATIAL = 10


def _slice(message: HloMessage) -> object:
    found = message.messages("slice_dimensions")
    rows = tuple((each.integer("start"), each.integer("limit"), each.integer("stride")) for each in found)
    return rows if message.text("opcode") == "slice" else None


def _padding(message: HloMessage) -> object:
    if "padding_config" not in message:
        return None
    found = message.message("padding_config").messages("dimensions")
    return tuple((each.integer("low"), each.integer("high"), each.integer("interior")) for each in found)


def _groups(message: HloMessage) -> object:
    listed = message.message("collective_device_list")
    found = listed.messages("replica_groups") or message.messages("replica_groups")
    if "mesh_groups" in message:
        return groups(HloCursor(_mesh_groups_text(message.message("mesh_groups"))))
    if "iota_groups" in message or "iota_replica_group_list" in listed:
        iota = message.values.get("iota_groups") or listed.message("iota_replica_group_list")
        shape = iota.integer("num_replica_groups"), iota.integer("num_devices_per_group")
        counted = iota.integers("iota_reshape_dims")
        order = iota.integers("iota_transpose_perm") or tuple(range(len(counted)))
        made = iota_groups(shape, counted, order)
        if made is None:
            raise ShardyError("the shape of the groups does not match the number of devices")
        return made
    return tuple(group.integers("replica_ids") for group in found) or None


def _mesh_groups_text(message: HloMessage) -> str:
    """Groups along axes of a mesh, as text: `mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y':(1)2}`."""
    mesh = message.message("mesh")
    axes = [(quoted(axis.text("name")), axis.integer("size")) for axis in mesh.messages("axes")]
    text = f"mesh[{','.join(f'{name}={size}' for name, size in axes)}]"
    iota = mesh.message("iota_device_ids")
    if "iota_device_ids" in mesh:
        text += f", device_ids=([{_listed(iota.integers('dimensions'))}]T({_listed(iota.integers('order'))}))"
    elif ids := mesh.integers("device_ids"):
        text += f", device_ids=({_listed(ids)})"
    words: list[str] = []
    for axis in message.messages("axes"):
        index = axis.integer("mesh_axis_index")
        if not 0 <= index < len(axes):
            raise ShardyError(f"the mesh has no axis {index}")
        part = axis.message("sub_axis")
        own = f":({part.integer('pre_size')}){part.integer('size')}" if "sub_axis" in axis else ""
        words.append(axes[index][0] + own)
    return f"{text} {{{','.join(words)}}}"


def _listed(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def quoted(name: str) -> str:
    """The name of an axis in text."""
    if "'" in name or "\n" in name:
        raise ShardyError("the name of an axis has a quote or a line break")
    return f"'{name}'"


def _pairs(message: HloMessage) -> object:
    found = message.messages("source_target_pairs")
    return tuple((pair.integer("source"), pair.integer("target")) for pair in found) or None


def _precision(message: HloMessage) -> object:
    found = message.message("precision_config").integers("operand_precision")
    return "{" + ",".join(word("operand_precision", each) for each in found) + "}" if any(found) else None


def _algorithm(message: HloMessage) -> object:
    if message.text("opcode") == "rng-bit-generator":
        return word("rng_algorithm", message.integer("rng_algorithm"))
    found = message.message("precision_config").integer("algorithm")
    return word("algorithm", found) if found else None


def _transposition(message: HloMessage) -> object:
    if "triangular_solve_options" not in message:
        return None
    return word("transpose_a", message.message("triangular_solve_options").integer("transpose_a"))


def _option(name: str) -> Read:
    """A flag of a solver's options."""

    def read(message: HloMessage) -> object:
        for options in ("triangular_solve_options", "cholesky_options"):
            if options in message and name in message.message(options):
                return bool(message.message(options).integer(name))
        return None

    return read


def _index(message: HloMessage) -> object:
    return message.integer("tuple_index") if message.text("opcode") == "get-tuple-element" else None


def _channel(message: HloMessage) -> object:
    return message.integer("channel_id") if message.integer("channel_id") > 0 else None


def _metadata(message: HloMessage) -> object:
    metadata = message.message("metadata")
    words = [
        f"{name}={escaped(metadata.text(name))}"
        for name in ("op_type", "op_name", "source_file")
        if metadata.text(name)
    ]
    words += [
        f"{name}={metadata.integer(name)}"
        for name in ("source_line", "stack_frame_id")
        if metadata.integer(name)
    ]
    return "{" + " ".join(words) + "}" if words else None


def frontend_text(message: HloMessage) -> str:
    """The frontend attributes of an instruction or module, as text; empty if there are none."""
    entries = message.message("frontend_attributes").messages("map")
    listed = (f"{entry.text('key')}={escaped(entry.text('value'))}" for entry in entries)
    return "{" + ",".join(listed) + "}" if entries else ""


def _config(message: HloMessage) -> object:
    text = message.data("backend_config").decode("utf-8", "replace")
    return escaped(text) if text else None


def _bytes(name: str) -> Read:
    return lambda message: message.data(name).decode("utf-8", "replace") or None


def _layouts(message: HloMessage) -> object:
    shapes = [str(shape_of(each)) for each in message.raws("operand_shapes_with_layout")]
    return f"{{{', '.join(shapes)}}}" if message.integer("constrain_layout") else None


def _aliases(message: HloMessage) -> object:
    words = [
        f"{{{_listed(each.integers('output_shape_index'))}}}: ({each.integer('operand_index')}, "
        f"{{{_listed(each.integers('operand_shape_index'))}}})"
        for each in message.messages("output_operand_aliasing")
    ]
    return f"{{{', '.join(words)}}}" if words else None


def _largest(message: HloMessage) -> object:
    return bool(message.integer("largest")) if message.text("opcode") == "topk" else None


def _k(message: HloMessage) -> object:
    return message.integer("k") if message.text("opcode") == "topk" else None


def _fft(message: HloMessage) -> object:
    return word("fft_type", message.integer("fft_type")) if message.text("opcode") == "fft" else None


def _is_associative(message: HloMessage) -> object:
    """A flag with three states, of which the first is unknown."""
    found = message.integer("is_associative")
    return {1: True, 2: False}.get(found)


_GATHER, _SCATTER, _DOT = "gather_dimension_numbers", "scatter_dimension_numbers", "dot_dimension_numbers"
ROWS: dict[str, Read] = {
    "metadata": _metadata,
    "frontend_attributes": lambda message: frontend_text(message) or None,
    "backend_config": _config,
    "operand_layout_constraints": _layouts,
    "output_to_operand_aliasing": _aliases,
    "dimensions": _any_dimensions,
    "iota_dimension": _iota,
    "window": _window,
    "dim_labels": _labels,
    "slice": _slice,
    "padding": _padding,
    "replica_groups": _groups,
    "source_target_pairs": _pairs,
    "operand_precision": _precision,
    "algorithm": _algorithm,
    "transpose_a": _transposition,
    **{name: _option(name) for name in ("left_side", "lower", "unit_diagonal")},
    "index": _index,
    "channel_id": _channel,
    "largest": _largest,
    "k": _k,
    "fft_type": _fft,
    "slice_sizes": lambda m: m.integers("gather_slice_sizes") if m.text("opcode") == "gather" else None,
    "direction": lambda message: message.text("comparison_direction") or None,
    "type": lambda message: message.text("comparison_type") or None,
    "order": lambda message: message.text("comparison_order") or None,
    "num_carries": lambda message: (
        message.integer("num_carries") if message.text("opcode") == "scan" else None
    ),
    "is_associative": _is_associative,
    "custom_call_target": lambda message: escaped(message.text("custom_call_target"))[1:-1] or None,
    "infeed_config": _bytes("infeed_config"),
    "outfeed_config": _bytes("outfeed_config"),
    "distribution": _word("distribution"),
    "api_version": _word("custom_call_api_version"),
    "epsilon": _present("epsilon"),
    **{name: _integers(name) for name in ("fft_length", "dynamic_slice_sizes")},
    **{
        name: _field(name)
        for name in (
            *("is_stable", "indices_are_sorted", "unique_indices", "use_global_device_ids"),
            *("is_host_transfer", "custom_call_has_side_effect", "is_composite", "is_reverse"),
        )
    },
    **{name: _field(name) for name in ("feature_group_count", "batch_group_count")},
    **{name: _present(name) for name in ("exponent_bits", "mantissa_bits")},
    "feature_index": lambda m: m.integer("feature_index") if m.text("opcode")[:10] == "batch-norm" else None,
    **{
        name: _within(_DOT, name)
        for name in ("lhs_contracting_dims", "rhs_contracting_dims", "lhs_batch_dims", "rhs_batch_dims")
    },
    **{
        name: _within(_GATHER, name)
        for name in (
            *("offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims"),
            "start_indices_batching_dims",
        )
    },
    **{
        name: _within(_SCATTER, name)
        for name in (
            *("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"),
            *("input_batching_dims", "scatter_indices_batching_dims"),
        )
    },
}
"""The attributes of all opcodes."""


def attributes_of(message: HloMessage) -> Values:
    """Returns the attributes of an instruction by name.

    Raises:
        ShardyError: a field is invalid.
    """
    found = {name: read(message) for name, read in ROWS.items()}
    found["index_vector_dim"] = _vector_dimension(_GATHER)(message)
    if _SCATTER in message:
        found["index_vector_dim"] = _vector_dimension(_SCATTER)(message)
    return {name: value for name, value in found.items() if value is not None}
