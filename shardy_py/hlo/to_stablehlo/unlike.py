"""Opcodes whose ops in StableHLO have other operands or attributes: constants, random numbers, exchanges.

Each function makes the ops of an instruction and returns its value. Not here: control flow and values without
ops (`special.py`).
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    DenseResourceAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError, warn_once
from shardy_py.hlo.text import OPCODES, Instruction, Shape
from shardy_py.hlo.text.frontend import unescaped
from shardy_py.hlo.text.values import Elements
from shardy_py.hlo.to_stablehlo.body import ComputationOps, Handler, entries_of, frontend_of, regular
from shardy_py.hlo.to_stablehlo.emitter import Entries, resized, shape_of
from shardy_py.hlo.to_stablehlo.literals import literal_bytes, parts
from shardy_py.hlo.to_stablehlo.rows import channel, groups
from shardy_py.hlo.to_stablehlo.special import same
from shardy_py.hlo.to_stablehlo.types import Tree, element_of, leaf_types, tree_of, type_of
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.dialects.stablehlo.attributes import TokenType
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor

DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE = 1, 2, 3
"""The types of channels."""
ELIDED = "__elided__"
"""MLIR's name for elements that a printer left out."""


def constant(body: ComputationOps, instruction: Instruction) -> Tree:
    """`constant`; elements that a dump left out are `dense_resource<__elided__>`, which nothing can run."""
    literal = instruction.literal
    return _constant(body, instruction, "" if literal is None else literal, instruction.shape)


def _constant(body: ComputationOps, instruction: Instruction, literal: str | Elements, shape: Shape) -> Tree:
    if shape.is_tuple:
        texts = parts(literal) if isinstance(literal, str) else literal
        if isinstance(texts, bytes) or len(texts) != len(shape.parts):
            raise ShardyError.unexpected(
                "literal", expected=f"{len(shape.parts)} values", got=f"{len(texts)}"
            )
        return tuple(
            _constant(body, instruction, text, part) for text, part in zip(texts, shape.parts, strict=True)
        )
    if shape.element == "token":
        return body.emitter.emit("stablehlo.create_token", (), (TokenType(),))[0]
    data = literal_bytes(literal, shape) if isinstance(literal, str) else literal
    if isinstance(data, tuple):
        raise ShardyError.unexpected("literal", expected=f"elements of {shape}", got="a tuple")
    size = prod(n or 0 for n in shape.sizes) * element_type(shape.element).dtype.itemsize
    if data is not None and len(data) != size:  # the literal has a shape of its own
        raise ShardyError.unexpected(
            "literal", expected=f"{size:,} bytes, elements of {shape}", got=f"{len(data):,}"
        )
    type_ = type_of(shape)
    value: Attribute
    if data is None:
        what = "constants whose elements the dump left out, as {...}, have no values"
        warn_once("elided", what, instruction.position)
        value = DenseResourceAttr.from_params(ELIDED, type_)  # pyright: ignore[reportArgumentType]
    else:
        value = make_dense(type_, data)
    return body.emitter.emit(
        "stablehlo.constant", (), (type_,), {"value": value}, entries=entries_of(instruction)
    )[0]


def iota_of_nothing(body: ComputationOps, instruction: Instruction) -> Tree:
    """`iota`; of a scalar it is 0, which StableHLO's has no dimension for."""
    type_ = type_of(instruction.shape)
    if instruction.shape.sizes:
        dimension = instruction.attributes.get("iota_dimension", 0)
        return body.emitter.emit(
            "stablehlo.iota", (), (type_,), {"iota_dimension": dimension}, entries=entries_of(instruction)
        )[0]
    data = literal_bytes("0", instruction.shape)
    assert data is not None
    return body.emitter.dense(type_, data)


_DISTRIBUTIONS = {"rng_uniform": "UNIFORM", "rng_normal": "NORMAL"}


def rng(body: ComputationOps, instruction: Instruction) -> Tree:
    """`rng`, whose shape is an operand."""
    word = str(instruction.attributes.get("distribution", ""))
    if word not in _DISTRIBUTIONS:
        raise ShardyError.unknown("distribution", word, _DISTRIBUTIONS)
    sizes = [size or 0 for size in instruction.shape.sizes]
    operands = [*body.leaves(instruction), body.emitter.integers(sizes)]
    attributes = {"rng_distribution": _DISTRIBUTIONS[word]}
    entries = entries_of(instruction)
    return body.emitter.emit(
        "stablehlo.rng", operands, leaf_types(instruction.shape), attributes, (), entries
    )[0]


def bitcast(body: ComputationOps, instruction: Instruction) -> Tree:
    """The elements of the operand in the order of memory, in the shape and layout of the result."""
    operand = body.operand(instruction.operands[0])
    given, wanted = body.shapes(instruction)[0], instruction.shape
    if isinstance(operand, tuple) or wanted.is_tuple:
        return operand
    emitter = body.emitter
    value = emitter.transpose(operand, given.minor_to_major[::-1])
    order = wanted.minor_to_major[::-1]
    sizes = [size or 0 for size in wanted.sizes]
    stored = [sizes[dimension] for dimension in order]
    if given.element != wanted.element:
        if prod(stored) != prod(shape_of(value)):
            raise ShardyError.unsupported(f"bitcast from {given} to {wanted}")
        type_ = ranked_tensor(shape_of(value), element_of(wanted.element))
        value = emitter.one("stablehlo.bitcast_convert", (value,), type_)
    value = emitter.reshape(value, stored)
    return emitter.transpose(value, [order.index(dimension) for dimension in range(len(order))])


def dynamic_reshape(body: ComputationOps, instruction: Instruction) -> Tree:
    """`dynamic_reshape`, whose sizes are one vector."""
    operand, *sizes = body.leaves(instruction)
    emitter = body.emitter
    parts_ = [emitter.reshape(size, (1,)) for size in sizes]
    if len(parts_) != 1:
        type_ = resized(sizes[0], (len(sizes),))
        parts_ = [emitter.one("stablehlo.concatenate", parts_, type_, dimension=0)]
    return emitter.one("stablehlo.dynamic_reshape", (operand, *parts_), type_of(instruction.shape))


def top_k(body: ComputationOps, instruction: Instruction) -> Tree:
    """`chlo.top_k`, which has the largest elements; `@mhlo.topk`, as MHLO calls it, for the smallest."""
    k = instruction.attributes["k"]
    name, attributes = "chlo.top_k", dict[str, object](k=k)
    types, entries = leaf_types(instruction.shape), entries_of(instruction)
    if instruction.attributes.get("largest") is False:
        name, attributes = "stablehlo.custom_call", {"call_target_name": StringAttr("mhlo.topk")}
        given = {"k": IntegerAttr(int(str(k)), i64), "largest": BoolAttr.from_bool(False)}
        entries |= {"mhlo.attributes": DictionaryAttr(given), "mhlo.version": IntegerAttr(1, i64)}
    results = body.emitter.emit(name, body.leaves(instruction), types, attributes, (), entries)
    return tree_of(instruction.shape, iter(results))


def scan(body: ComputationOps, instruction: Instruction) -> Tree:
    """`chlo.scan`: of the operands and results the last ones are what is carried from slice to slice."""
    carries, operands = int(str(instruction.attributes["num_carries"])), body.leaves(instruction)
    types = leaf_types(instruction.shape)
    if not 0 <= carries <= min(len(operands), len(types)):
        expected = f"at most {min(len(operands), len(types))}, as it has operands and results"
        raise ShardyError.unexpected("num_carries", expected=expected, got=f"{carries}")
    attributes = OPCODES["scan"].convert(instruction, ())
    for name, values in (("operandSegmentSizes", operands), ("resultSegmentSizes", types)):
        attributes[name] = DenseArrayBase.from_list(i32, (len(values) - carries, carries))
    if len(operands) == carries:
        attributes["scan_dim_size"] = _scanned_size(instruction, carries, int(attributes["dimension"]))
    regions = [body.region(instruction.attributes["to_apply"])]
    results = body.emitter.emit("chlo.scan", operands, types, attributes, regions, entries_of(instruction))
    return tree_of(instruction.shape, iter(results))


def _scanned_size(instruction: Instruction, carries: int, dimension: int) -> int:
    """The number of slices of a scan without inputs: the size of its outputs."""
    outputs = list(instruction.shape.leaves())[:-carries] if carries else list(instruction.shape.leaves())
    if not outputs or dimension >= len(outputs[0].sizes):
        raise ShardyError.unexpected("scan", expected="an input or output to scan along", got="none")
    return outputs[0].sizes[dimension] or 0


def rng_bit_generator(body: ComputationOps, instruction: Instruction) -> Tree:
    """`rng_bit_generator`, which returns the new state too."""
    if instruction.shape.is_tuple:
        return regular(body, instruction)
    shape = Shape("tuple", parts=(body.shapes(instruction)[0], instruction.shape))
    pair = regular(
        body,
        Instruction(
            instruction.name, instruction.opcode, shape, instruction.operands, instruction.attributes
        ),
    )
    assert isinstance(pair, tuple)
    return pair[1]


# ---------------------------------------------------------------------- exchanges


def all_to_all(body: ComputationOps, instruction: Instruction) -> Tree:
    """`all_to_all`; without a dimension, operand `i` goes to device `i` of a group: it is of their parts."""
    operands = body.leaves(instruction)
    if "dimensions" in instruction.attributes or not operands:
        return regular(body, instruction)
    emitter, count, sizes = body.emitter, len(operands), shape_of(operands[0])
    whole_type = resized(operands[0], (count, *sizes))
    whole = emitter.one(
        "stablehlo.concatenate",
        [emitter.reshape(operand, (1, *sizes)) for operand in operands],
        whole_type,
        dimension=0,
    )
    shapes = body.shapes(instruction)
    moved = emitter.emit(
        "stablehlo.all_to_all",
        (whole,),
        (whole_type,),
        {"split_dimension": 0, "concat_dimension": 0, "split_count": count}
        | groups(instruction, shapes)
        | channel(instruction, shapes),
        entries=_frontend(instruction),
    )[0]
    results = [
        emitter.reshape(
            emitter.one(
                "stablehlo.slice",
                (moved,),
                resized(moved, (1, *sizes)),
                start_indices=(index, *[0] * len(sizes)),
                limit_indices=(index + 1, *sizes),
                strides=(1,) * (len(sizes) + 1),
            ),
            sizes,
        )
        for index in range(count)
    ]
    return tree_of(instruction.shape, iter(results))


def _frontend(instruction: Instruction) -> Entries:
    found = frontend_of(str(instruction.attributes.get("frontend_attributes", "")))
    return {} if found is None else {"mhlo.frontend_attributes": found}


# ---------------------------------------------------------------------- hosts


def after_all(body: ComputationOps, instruction: Instruction) -> Tree:
    """`after_all`; without operands a new token."""
    operands = body.leaves(instruction)
    name = "stablehlo.after_all" if operands else "stablehlo.create_token"
    return body.emitter.one(name, operands, TokenType())


def infeed(body: ComputationOps, instruction: Instruction) -> Tree:
    """`infeed`, whose results are the leaves of what arrives and a token."""
    config = unescaped(str(instruction.attributes.get("infeed_config", "")))
    types, entries = leaf_types(instruction.shape), entries_of(instruction)
    attributes = {"infeed_config": config}
    results = body.emitter.emit("stablehlo.infeed", body.leaves(instruction), types, attributes, (), entries)
    return tree_of(instruction.shape, iter(results))


def outfeed(body: ComputationOps, instruction: Instruction) -> Tree:
    """`outfeed`."""
    config = unescaped(str(instruction.attributes.get("outfeed_config", "")))
    return body.emitter.emit(
        "stablehlo.outfeed",
        body.leaves(instruction),
        (TokenType(),),
        {"outfeed_config": config},
        entries=entries_of(instruction),
    )[0]


def send(body: ComputationOps, instruction: Instruction) -> Tree:
    """`send`; `send-done` returns its token."""
    operands, attributes = body.leaves(instruction), _transfer(instruction, DEVICE_TO_HOST)
    return body.emitter.emit(
        "stablehlo.send", operands, (TokenType(),), attributes, entries=entries_of(instruction)
    )[0]


def receive(body: ComputationOps, instruction: Instruction) -> Tree:
    """`recv`; `recv-done` returns what arrives and a token."""
    shape = body.done_shapes.get(instruction.name)
    if shape is None:
        raise ShardyError.unexpected("", expected="'recv-done' of it in its computation", got="none")
    types, attributes, entries = (
        leaf_types(shape),
        _transfer(instruction, HOST_TO_DEVICE),
        entries_of(instruction),
    )
    results = body.emitter.emit("stablehlo.recv", body.leaves(instruction), types, attributes, (), entries)
    return tree_of(shape, iter(results))


def _transfer(instruction: Instruction, host: int) -> dict[str, object]:
    is_host = bool(instruction.attributes.get("is_host_transfer"))
    attributes = instruction.attributes
    pairs = attributes.get("source_target_pairs")
    kind = host if is_host else DEVICE_TO_DEVICE
    return {
        "channel_handle": {"handle": attributes.get("channel_id", 0), "type": kind},
        "is_host_transfer": is_host or None,
        "source_target_pairs": pairs,
    }


HANDLERS: dict[str, Handler] = {
    "constant": constant,
    "iota": iota_of_nothing,
    "rng": rng,
    "rng-bit-generator": rng_bit_generator,
    "bitcast": bitcast,
    "dynamic-reshape": dynamic_reshape,
    "topk": top_k,
    "scan": scan,
    "all-to-all": all_to_all,
    "after-all": after_all,
    "infeed": infeed,
    "outfeed": outfeed,
    "send": send,
    "send-done": same,
    "recv": receive,
    "recv-done": same,
}
"""The functions of opcodes."""
