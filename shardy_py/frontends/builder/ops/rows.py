"""The table of functions whose parameters are operands and attributes of an op, with its engine.

    fft(operand, fft_type: str, length: integers(fft_length))

The annotation of a parameter is its kind (`_KINDS`), with the attribute in parentheses if its name differs; a
parameter without annotation is an operand.

Not here: elementwise ops, which follow from their rows (`elementwise.py`), functions that compute more
(`written.py`).
"""

from __future__ import annotations

import operator
import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder.bodies import region
from shardy_py.frontends.builder.broadcasting import dimension, dimensions
from shardy_py.frontends.builder.tensor import Tensor, emit, rank_of, value_of
from shardy_py.frontends.builder.types import RankedTensorType, element_of
from shardy_py.mlir.dialects.stablehlo.attribute_kinds import GROUPS
from shardy_py.mlir.dialects.stablehlo.attributes import TokenType
from shardy_py.mlir.dialects.stablehlo.structs import ChannelHandle

_TABLE = """
convert(operand, element_type: element)
    The elements converted to another type.
transpose(operand, permutation: dimensions)
    The dimensions in another order.
reverse(operand, axes: dimensions(dimensions))
    The tensor reversed along dimensions.
slice_(operand, start: integers(start_indices), limit: integers(limit_indices), strides: strides = None)
    The elements from `start` to before `limit`.
gather(operand, start_indices, dimension_numbers: gather, slice_sizes: integers, *,
       indices_are_sorted: flag = False)
    Windows of the operand at indices.
convolution(lhs, rhs, dimension_numbers: convolution, *, window_strides: optional = None,
            padding: pairs = None, lhs_dilation: optional = None, rhs_dilation: optional = None,
            window_reversal: flags = None, feature_group_count: int = 1,
            batch_group_count: int = 1) -> element
    A convolution; sizes of the result as in StableHLO, "convolution"; elements as in `lhs`.
reduce_precision(operand, exponent_bits: int, mantissa_bits: int)
    The elements rounded to a format of so many bits.
uniform_quantize(operand, result: type)
    The elements quantized to those of `result`.
uniform_dequantize(operand, element_type: element = "f32")
    Quantized elements as numbers of a type.
fft(operand, fft_type: str, length: integers(fft_length))
    A Fourier transform: FFT, IFFT, RFFT or IRFFT.
cholesky(operand, *, lower: bool = False)
    The Cholesky decomposition of batches of matrices.
triangular_solve(a, b, *, left_side: bool = True, lower: bool = False, unit_diagonal: bool = False,
                 transpose_a: str = "NO_TRANSPOSE")
    The solution of batches of triangular systems.
batch_norm_training(operand, scale, offset, epsilon: float, feature_index: dimension) -> three
    The normalized tensor, means, variances.
batch_norm_inference(operand, scale, offset, mean, variance, epsilon: float, feature_index: dimension)
    The tensor normalized by given means and variances.
batch_norm_grad(operand, scale, mean, variance, grad_output, epsilon: float,
                feature_index: dimension) -> three
    The gradients of the operand, of the scale, of the offset.
rng(low, high, sizes, distribution: str(rng_distribution) = "UNIFORM")
    Random numbers: UNIFORM between two bounds, or NORMAL of a mean and a deviation.
rng_bit_generator(state, result: type_after_state, algorithm: str(rng_algorithm) = "DEFAULT") -> two
    The next state and random bits: DEFAULT, THREE_FRY or PHILOX.
get_dimension_size(operand, dimension: dimension)
    The size of a dimension, as a scalar of i32.
set_dimension_size(operand, size, dimension: dimension)
    The tensor with a dimension of that size, given as a scalar of i32.
dynamic_broadcast_in_dim(operand, sizes, broadcast_dimensions: integers, result: type)
    Dimension i of the operand becomes dimension `broadcast_dimensions[i]` of a tensor of those sizes.
dynamic_gather(operand, start_indices, slice_sizes, dimension_numbers: gather, *,
               indices_are_sorted: flag = False)
    Windows of run-time sizes of the operand at indices.
dynamic_iota(sizes, dimension: dimension_of_result(iota_dimension), result: type)
    The index along one dimension of a tensor of those sizes.
dynamic_pad(operand, padding_value, low, high, interior, result: type)
    The tensor padded before, after and between its elements by run-time amounts.
dynamic_reshape(operand, sizes, result: type)
    The elements, row-major, in a shape of those sizes.
real_dynamic_slice(operand, start, limit, strides, result: type)
    The elements from `start` to before `limit`, which are run-time values.
all_gather(operand, dimension: dimension(all_gather_dim), replica_groups: gathering_groups, *,
           channel: channel_of_groups = None)
    The tensors of a group, concatenated along a dimension.
all_reduce(operand, replica_groups: groups, body: combiner = None, *, channel: channel_of_groups = None)
    The tensors of a group combined by `body`, of two elements; None: summed.
reduce_scatter(operand, dimension: dimension(scatter_dimension), replica_groups: scattering_groups,
               body: combiner = None, *, channel: channel_of_groups = None)
    The tensors of a group combined by `body` (None: summed), scattered along a dimension.
collective_reduce(operand, replica_groups: groups, body: combiner = None, *,
                  channel: channel_of_groups = None)
    The tensors of a group combined by `body` (None: summed) on its first device; zeros on the others.
all_to_all(operand, split_dimension: dimension, concat_dimension: dimension,
           replica_groups: splitting_groups, *, channel: channel = None)
    Splits one dimension over the devices of a group and concatenates the received parts along another.
collective_permute(operand, pairs: groups(source_target_pairs), *, channel: channel = None)
    The tensor of another device; `pairs`: sender and receiver.
collective_broadcast(operand, replica_groups: groups, *, channel: channel = None)
    The tensor of the first device of each group.
partition_id() -> device
    The number of the device among partitions, as a scalar of ui32.
replica_id() -> device
    The number of the device among replicas, as a scalar of ui32.
async_start(body: asynchronous, *operands)
    The future of the result of `body`: one asynchronous collective or slice of the operands.
async_done(future)
    Waits for a future and returns its tensor.
create_token() -> token
    A token without dependencies.
after_all(*tokens) -> token
    A token that depends on all given tokens.
infeed(token, results: types_before_token, config: str(infeed_config) = "") -> tensors
    Tensors from the infeed, then a token that depends on them.
outfeed(inputs: operands, token, config: str(outfeed_config) = "") -> token
    Sends tensors to the outfeed; returns a token that depends on that.
send(inputs: operands, token, channel: sent, *, to_host: bool(is_host_transfer) = False) -> token
    Sends tensors over a channel; returns a token that depends on that.
recv(token, results: types_before_token, channel: received, *,
     from_host: bool(is_host_transfer) = False) -> tensors
    Tensors received over a channel, then a token that depends on them.
tuple_(*values)
    A tuple of values.
get_tuple_element(operand, index: int)
    One value of a tuple.
"""
"""result: the type of a result that is not inferred, with None for dynamic sizes.
replica_groups: rows of device numbers; shorter rows end in -1.
channel: the number of a channel between devices; None: the op has none, so that groups are of replicas."""

_ROW = re.compile(r"^(\w+)\(([^)]*(?:\(\w+\)[^)]*)*)\)(?: -> (\w+))?\n    (\S.*)$", re.MULTILINE)
_PARAMETER = re.compile(r"(\*?)(\w*)(?:: (\w+)(?:\((\w+)\))?)?(?: = (.+))?")
Given = Mapping[str, Any]
Encode = Callable[[str, Any, Given], dict[str, Any]]
"""From an attribute's name, a value and all arguments, keywords of `emit`."""

# ---------------------------------------------------------------------------- kinds of parameters


def _first(given: Given) -> Tensor:
    return next(iter(given.values()))


def _rank(given: Given) -> int:
    return rank_of(_first(given))


def _channel(number: int | None, kind: int = 1) -> dict[str, object]:
    """A channel of a kind: 1 between devices, 2 from device to host, 3 from host to device."""
    return {"channel_handle": None if number is None else ChannelHandle(number, kind)}


def _across(_: str, channel: Any, given: Given) -> dict[str, object]:
    """With a channel, groups are of devices by their global numbers."""
    return {**_channel(channel), "use_global_device_ids": None if channel is None else True}


def _combining(_: str, body: Any, given: Given) -> dict[str, object]:
    """The region that combines two elements; None: their sum."""
    element = RankedTensorType((), _first(given).element_type)
    return {"regions": (region(body or operator.add, [element, element]),)}


def _asynchronous(_: str, body: Any, given: Given) -> dict[str, object]:
    types = [value_of(operand).type for operand in given["operands"]]
    return {"regions": (region(body, types, isolated=True),)}


def _resized(given: Given, times: int, parts: int) -> RankedTensorType:
    """The type with `times` / `parts` of a dimension's size. Raises `ShardyError` if that is not whole."""
    operand, number = _first(given), dimension(given["dimension"], _rank(given))
    size = operand.shape[number]
    if size is not None and (not parts or size * times % parts):
        raise ShardyError(f"dimension {number} of {operand.type.text} is not divisible by {parts}")
    new_size = None if size is None else size * times // parts
    return RankedTensorType(
        (*operand.shape[:number], new_size, *operand.shape[number + 1 :]), operand.element_type
    )


def _group_size(groups: object) -> int:
    """The number of devices in a group. Raises `ShardyError` for anything but rows of numbers."""
    rows = GROUPS.encode(groups)
    shape = rows.get_shape() if isinstance(rows, DenseIntOrFPElementsAttr) else None
    if not shape or not shape[1]:
        raise ShardyError.unexpected("", expected="groups of devices as rows of numbers", got=f"{groups!r}")
    return shape[1]


def _gathering(name: str, groups: object, given: Given) -> dict[str, object]:
    return {name: groups, "results": _resized(given, _group_size(groups), 1)}


def _scattering(name: str, groups: object, given: Given) -> dict[str, object]:
    return {name: groups, "results": _resized(given, 1, _group_size(groups))}


def _of_result(name: str, value: Any, given: Given) -> dict[str, object]:
    return {name: dimension(value, len(given["result"].shape))}


def _same(name: str, value: object, _: Given) -> dict[str, object]:
    return {name: value}


_GROUPS, _CHANNEL = "Sequence[Sequence[int]]", "int | None"
_KINDS: dict[str, tuple[str, Encode | None]] = {
    "operand": ("Tensor", None),
    "operands": ("Sequence[Tensor]", None),
    **{kind: (kind, _same) for kind in ("bool", "float", "int", "str")},
    "flag": ("bool", lambda name, value, given: {name: value or None}),
    "integers": ("Sequence[int]", _same),
    "optional": ("Sequence[int] | None", _same),
    "pairs": ("Sequence[tuple[int, int]] | None", _same),
    "flags": ("Sequence[bool] | None", _same),
    "strides": ("Sequence[int] | None", lambda name, value, given: {name: value or (1,) * _rank(given)}),
    "gather": ("GatherDimensionNumbers | Mapping[str, Any]", _same),
    "convolution": ("ConvDimensionNumbers | Mapping[str, Any]", _same),
    "dimension": ("int", lambda name, value, given: {name: dimension(value, _rank(given))}),
    "dimensions": ("Dimensions", lambda name, value, given: {name: dimensions(value, _rank(given))}),
    "dimension_of_result": ("int", _of_result),
    "element": ("Any", lambda name, value, given: {"results": element_of(value)}),
    "type": ("RankedTensorType", lambda name, value, given: {"results": value}),
    "type_after_state": (
        "RankedTensorType",
        lambda name, value, given: {"results": [_first(given).type, value]},
    ),
    "types_before_token": (
        "Sequence[RankedTensorType]",
        lambda name, value, _: {"results": [*value, TokenType()]},
    ),
    "groups": (_GROUPS, _same),
    "gathering_groups": (_GROUPS, _gathering),
    "scattering_groups": (_GROUPS, _scattering),
    "splitting_groups": (_GROUPS, lambda name, value, _: {name: value, "split_count": _group_size(value)}),
    "channel": (_CHANNEL, lambda name, value, given: _channel(value)),
    "channel_of_groups": (_CHANNEL, _across),
    "combiner": ("Callable[[Tensor, Tensor], Tensor] | None", _combining),
    "asynchronous": ("Callable[..., Tensor]", _asynchronous),
    "sent": ("int", lambda _, value, given: _channel(value, 2 if given["to_host"] else 1)),
    "received": ("int", lambda _, value, given: _channel(value, 3 if given["from_host"] else 1)),
}
"""The annotation of a parameter of each kind, and its keywords of `emit`; None: operands."""
_RESULTS: dict[str | None, tuple[str, dict[str, object] | None]] = {
    None: ("Tensor", {}),
    "element": ("Tensor", None),
    "token": ("Tensor", {"results": TokenType()}),
    "device": ("Tensor", {"results": RankedTensorType((), "ui32")}),
    "two": ("tuple[Tensor, Tensor]", {}),
    "three": ("tuple[Tensor, Tensor, Tensor]", {}),
    "tensors": ("tuple[Tensor, ...]", {}),
}
"""The annotation of results, and their types where no parameter gives them; None: the operand's elements."""

# ---------------------------------------------------------------------------- functions


def functions(table: str = _TABLE) -> dict[str, Callable[..., Any]]:
    """Returns the functions of a table by name."""
    return {match[1]: _function(*match.groups()) for match in _ROW.finditer(table)}


def _function(name: str, text: str, results: str | None, summary: str) -> Callable[..., Any]:
    slots = _slots(text)
    annotation, types = _RESULTS[results]
    signature = Signature([parameter for parameter, _, _ in slots], return_annotation=annotation)
    positional = [p.name for p, _, _ in slots if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    options = {p.name: p.default for p, _, _ in slots if p.kind is Parameter.KEYWORD_ONLY}
    has_fixed_count = len(positional) + len(options) == len(slots)

    def function(*given: Any, **keywords: Any) -> Any:
        if has_fixed_count and len(given) == len(positional) and not keywords:
            arguments: Given = dict(zip(positional, given, strict=True)) | options
        else:
            arguments = _bound(signature, given, keywords, name)
        operands: list[Tensor] = []
        given_types = {"results": _first(arguments).element_type} if types is None else types
        attributes: dict[str, Any] = dict(given_types)
        for parameter, attribute, encode in slots:
            value = arguments[parameter.name]
            if encode is None:
                operands += value if attribute == "*" else (value,)
            else:
                attributes |= encode(attribute, value, arguments)
        tensors = emit(name.removesuffix("_"), *operands, **attributes)
        return tensors[0] if annotation == "Tensor" else tensors

    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    function.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return function


def _bound(
    signature: Signature, given: tuple[object, ...], keywords: Mapping[str, object], name: str
) -> Given:
    try:
        bound = signature.bind(*given, **keywords)
    except TypeError as error:
        raise TypeError(f"{name}(): {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _slots(text: str) -> list[tuple[Parameter, str, Encode | None]]:
    """The parameters, each with its attribute (`*`: several operands) and the keywords of its kind."""
    slots: list[tuple[Parameter, str, Encode | None]] = []
    form = Parameter.POSITIONAL_OR_KEYWORD
    for match in map(_PARAMETER.fullmatch, re.split(r",\s+", text) if text else ()):
        assert match is not None
        star, name, kind, attribute, default = match.groups()
        if not name:
            form = Parameter.KEYWORD_ONLY
            continue
        annotation, encode = _KINDS[kind or "operand"]
        parameter = Parameter(name, Parameter.VAR_POSITIONAL if star else form, annotation=annotation)
        if default:
            parameter = parameter.replace(default=literal_eval(default))
        slots.append((parameter, "*" if star or kind == "operands" else attribute or name, encode))
    return slots
