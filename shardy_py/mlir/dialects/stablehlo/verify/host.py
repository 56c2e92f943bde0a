"""Rules of ops that reach out of the program: infeed, send, recv, custom calls, random bits, composites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from xdsl.dialects import builtin
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects.stablehlo.structs import ChannelHandle, OutputOperandAlias
from shardy_py.mlir.dialects.stablehlo.verify.control import tuple_of, tuple_parts
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, quoted, require
from shardy_py.mlir.dialects.stablehlo.verify.tensors import read_tensor, same_shape
from shardy_py.mlir.dialects.stablehlo.verify.view import View, dense_integers
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_array
from shardy_py.mlir.typed import element_type_of, of_kind

_DEVICE_TO_DEVICE, _DEVICE_TO_HOST, _HOST_TO_DEVICE = 1, 2, 3


def check_infeed(view: View) -> None:
    """Results are tensors and a token; a layout names each tensor's."""
    types = view.result_types
    _require_tensors_and_token(types, "all elements of result types, except the last element, are")
    layouts = view.list("layout")
    if layouts is None:
        return
    if len(layouts) != len(types) - 1:
        fail(
            f"layout-attribute size must be {len(types) - 1} (which is the number of op-results - 1 (for "
            f"token result)), but got {len(layouts)}"
        )
    for layout in layouts:
        if not is_array(layout):
            fail(
                f"layout-attribute expected to have elements of type array, but got {attribute_text(layout)}"
            )
        for leaf in layout.data:
            if not isinstance(leaf, builtin.IntegerAttr):
                fail(
                    "layout-attribute's leaf elements are expected to be of type integer, but got "
                    f"{attribute_text(leaf)}"
                )


def _require_tensors_and_token(types: Sequence[Attribute], tensors: str) -> None:
    require(bool(types), "result is expected to be at least of size 1, but got 0")
    for type_ in types[:-1]:
        if not isinstance(type_, builtin.TensorType):
            fail(f"{tensors} expected to be of tensor type, but got {quoted(type_)}")
    if types[-1].name != "stablehlo.token":
        fail(f"last element of result types is expected to be of token type, but got {quoted(types[-1])}")


def _check_channel(view: View, host_type: int, host_name: str) -> None:
    handle: ChannelHandle | None = view.value("channel_handle")
    kind = 0 if handle is None else handle.type
    is_host = view.flag("is_host_transfer")
    if not is_host and kind != _DEVICE_TO_DEVICE:
        fail("channel_type should be DEVICE_TO_DEVICE when is_host_transfer is false")
    if is_host and kind != host_type:
        fail(f"channel_type should be {host_name} when is_host_transfer is true")


def infer_send(view: View) -> Sequence[Attribute]:
    """The channel's type is that of the transfer."""
    _check_channel(view, _DEVICE_TO_HOST, "DEVICE_TO_HOST")
    return view.result_types


def check_recv(view: View) -> None:
    """The channel's type is that of the transfer; results are tensors and a token."""
    _check_channel(view, _HOST_TO_DEVICE, "HOST_TO_DEVICE")
    _require_tensors_and_token(view.result_types, "everything but the last element of result types is")


def check_rng_bit_generator(view: View) -> None:
    """The state keeps its shape."""
    before, after = view.operands[0], view.results[0]
    if not before.is_shaped_as(after):
        fail(f"output state shape must be compatible with initial state shape. Got: {before} and {after}")


# ---------------------------------------------------------------------- custom_call


def check_custom_call(view: View) -> None:
    """A custom call, in this order:

    - layouts for operands and results or for none; each a permutation of its tensor's dimensions
    - aliases name existing operands and results of one type
    - its configuration is of the kind that its interface takes
    - a call that creates, pins or unpins a buffer has the operand and result for it; buffers are aliased once
    """
    operand_layouts, result_layouts = view.list("operand_layouts"), view.list("result_layouts")
    if operand_layouts is not None or result_layouts is not None:
        if operand_layouts is None or result_layouts is None:
            fail("Layout attributes should be specified for either both operands and results or none.")
        results = view.result_types
        if len(results) == 1 and isinstance(results[0], builtin.TupleType):
            results = tuple(results[0].types.data)
        _check_layouts(view.operand_types, operand_layouts or (), "operand")
        _check_layouts(results, result_layouts or (), "result")
    for alias in _aliases(view):
        _check_alias(view, alias)
    _check_configuration(view)
    _check_buffers(view)


def _check_layouts(types: Sequence[Attribute], layouts: Sequence[Attribute], what: str) -> None:
    if len(types) != len(layouts):
        fail(f"Number of {what}s must match the number of {what} layouts, {len(types)} != {len(layouts)}")
    for index, (type_, layout) in enumerate(zip(types, layouts, strict=True)):
        if isinstance(type_, builtin.TupleType):
            fail("Tuple types are not fully supported with layout constraints yet")
        dense, tensor = dense_integers(layout), read_tensor(type_)
        order, text = () if dense is None else dense.values, attribute_text(layout)
        if not isinstance(type_, builtin.TensorType | builtin.UnrankedTensorType):
            place = f"{what} #{index} of type {quoted(type_)}"
            require(not order, f"Only tensor types can have non-empty layout: {place} has layout {text}")
        elif tensor is not None and sorted(order) != list(range(tensor.rank)):
            fail(
                f"incorrect layout {text} for type {quoted(types[index])}, layout must be a permutation of "
                f"[0, {tensor.rank})"
            )


def _aliases(view: View) -> list[OutputOperandAlias]:
    values = (getattr(attribute, "data", None) for attribute in view.list("output_operand_aliases") or ())
    return [value for value in values if isinstance(value, OutputOperandAlias)]


def _check_alias(view: View, alias: OutputOperandAlias) -> None:
    count = len(view.operand_types)
    if not 0 <= alias.operand_index < count:
        fail(
            f"expects operandIndex in the output_operand_alias attribute to be in range [0, {count}); got: "
            f"{alias.operand_index}."
        )
    operand = _part(view.operand_types[alias.operand_index], alias.operand_tuple_indices, "operand")
    whole = view.result_types[0] if len(view.result_types) == 1 else tuple_of(view.result_types)
    output = _part(whole, alias.output_tuple_indices, "output")
    if operand != output:
        fail(
            "shapes mismatch in the output_operand_alias attribute: operand part has type "
            f"{quoted(operand)} and output part has type {quoted(output)}"
        )


def _part(type_: Attribute, indices: Sequence[int], what: str) -> Attribute:
    for index in indices:
        parts = tuple_parts(type_)
        if not 0 <= index < len(parts):
            fail(f"{what}_tuple_indices in the output_operand_alias attribute out of bounds")
        type_ = parts[index]
    return type_


_API_VERSIONS = ("UNSPECIFIED", "ORIGINAL", "STATUS_RETURNING", "STATUS_RETURNING_UNIFIED", "TYPED_FFI")


def _check_configuration(view: View) -> None:
    version = f"API_VERSION_{_API_VERSIONS[view.integer('api_version', 1)]}"
    is_typed = version == "API_VERSION_TYPED_FFI"
    configuration = view.op.properties.get("backend_config")
    accepted = builtin.DictionaryAttr if is_typed else builtin.StringAttr
    if configuration is not None and not isinstance(configuration, accepted):
        text = "dictionary" if is_typed else "string"
        fail(f"backend_config for api_version {version} must be a {text} attribute.")


# ---------------------------------------------------------------------- custom_call on buffers

Path = tuple[int, ...]


def _check_buffers(view: View) -> None:
    """The rules of a custom call's target, or of its aliases."""
    target = view.op.properties.get("call_target_name")
    name = target.data if isinstance(target, builtin.StringAttr) else ""
    if name == "CreateBuffer":
        require(not view.operand_types, "CreateBuffer custom_call shouldn't have any inputs")
        require(len(view.result_types) == 1, "CreateBuffer custom_call should have one result")
        require(_is_buffer(view.result_types[0]), "CreateBuffer custom_call should have a memref result")
    elif name in ("Pin", "Unpin"):
        _check_pin(view, name)
    else:
        _check_aliases(view)


def _is_buffer(type_: Attribute) -> bool:
    return isinstance(type_, builtin.MemRefType)


def _check_pin(view: View, name: str) -> None:
    kinds = ("tensor", "memref") if name == "Pin" else ("memref", "tensor")
    for what, kind, types in (
        ("input", kinds[0], view.operand_types),
        ("output", kinds[1], view.result_types),
    ):
        require(len(types) == 1, f"{name} custom_call should have one {what}")
        is_kind = _is_buffer(types[0]) if kind == "memref" else isinstance(types[0], builtin.TensorType)
        require(is_kind, f"{name} custom_call should have a {kind} {what}")
    shapes = [_shape(type_) for type_ in (*view.operand_types, *view.result_types)]
    if not same_shape(shapes[0][0], shapes[1][0]) or shapes[0][1] != shapes[1][1]:
        fail(f"{name} custom_call should have compatible input and output types")


def _shape(type_: Attribute) -> tuple[tuple[int | None, ...], Attribute]:
    sizes = of_kind(type_, builtin.ShapedType).get_shape()
    return tuple(None if size < 0 else size for size in sizes), element_type_of(type_)


def _check_aliases(view: View) -> None:
    operands: set[tuple[int, Path]] = set()
    outputs: set[Path] = set()
    for alias in _aliases(view):
        type_ = view.operand_types[alias.operand_index]
        if not _is_buffer(_part(type_, alias.operand_tuple_indices, "operand")):
            continue
        output, operand = alias.output_tuple_indices, (alias.operand_index, alias.operand_tuple_indices)
        if output in outputs:
            fail(f"buffer output {list(output)} is used in output_operand_alias more than once")
        if operand in operands:
            fail(
                f"buffer operand {operand[0]}{list(operand[1])} is used in output_operand_alias more than "
                "once"
            )
        outputs.add(output)
        operands.add(operand)
    for path, type_ in _results(view.result_types):
        if _is_buffer(type_) and path not in outputs:
            fail(f"buffer output {list(path)} is not used in output_operand_alias")


def _results(types: Sequence[Attribute]) -> Iterator[tuple[Path, Attribute]]:
    """The leaves of all results, each with the indices that lead to it."""
    if len(types) == 1:
        yield from _leaves((), types[0])
    else:
        for index, type_ in enumerate(types):
            yield from _leaves((index,), type_)


def _leaves(path: Path, type_: Attribute) -> Iterator[tuple[Path, Attribute]]:
    if isinstance(type_, builtin.TupleType):
        for index, part in enumerate(tuple_parts(type_)):
            yield from _leaves((*path, index), part)
    else:
        yield path, type_


# ---------------------------------------------------------------------- composite

_NAMESPACED = r"^[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+$"


def check_composite(op: Operation, scope: Scope) -> None:
    """A composite has a name with a namespace, and the operands and results of its decomposition."""
    name, symbol = op.properties.get("name"), op.properties.get("decomposition")
    if isinstance(name, builtin.StringAttr) and not re.match(_NAMESPACED, name.data):
        fail(
            "name must be a valid namespaced op name, i.e. it must match the following regular expression: "
            f'{_NAMESPACED} e.g. "my_namespace.my_op"'
        )
    callee_name: str = getattr(symbol, "string_value", lambda: "")()
    callee = scope.symbols.get(callee_name)
    if not isinstance(callee, FuncOp):
        fail(f"'{callee_name}' does not reference a valid function")
    sides = (
        ("operand", [value.type for value in op.operands], callee.function_type.inputs.data),
        ("result", [value.type for value in op.results], callee.function_type.outputs.data),
    )
    for what, types, expected in sides:
        if len(types) != len(expected):
            fail(f"has {len(types)} {what}(s), but decomposition has {len(expected)}")
        for index, (type_, wanted) in enumerate(zip(types, expected, strict=True)):
            if type_ != wanted:
                fail(
                    f"{what} at index {index} has type {quoted(type_)}, but decomposition has type "
                    f"{quoted(wanted)}"
                )
