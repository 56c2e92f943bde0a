"""Linear layers and embeddings of a model of PyTorch in its program, and where what they return goes.

    up -> gelu -> down      "up" is read by "down" only: both may keep the features between them sharded
    q -> view -> ... -> o   so may heads, as tensors of DTensor, which have the sizes of the whole
    up -> norm -> down      the norm needs whole rows

`parallelize_module` takes and returns plain tensors between modules unless a plan says otherwise; whether a
layer may return a part is a property of the code between it and its readers.

Not here: which layers are sharded, and the code (`shardy_py.search.suggest`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from itertools import accumulate
from math import gcd

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from shardy_py.base.narrowing import is_sequence
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp, ShardingGroupOp
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.module_paths import (
    MODULE_CLASS,
    PHASES,
    UNCALLED,
    is_backward,
    is_parameter,
    outer_name,
    outputs_of,
)
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.typed import dictionaries_of
from shardy_py.ops import TABLE, Family
from shardy_py.propagation.rules import derive_rule, pointwise_rule
from shardy_py.sharding import ShardingRule
from shardy_py.sharding.rule import FactorType

_MATRIX = 2
_WEIGHT, _BIAS = "weight", "bias"
_NAME = re.compile(r"\w+(\.\w+)+")
"""The name of a parameter or buffer of a module."""


@dataclass(frozen=True)
class TorchLayer:
    """A module with one matrix that its own op alone reads.

    row_dimension: of the weight, which `RowwiseParallel` shards: 1 of a linear layer, 0 of an embedding.
    readers: the linear layers that read what it returns, or what is computed of each feature. partners:
    other layers whose results are met on the way, which must be sharded alike. parts: the greatest common
    divisor of the sizes that the features have on the way, as heads. is_viewed: whether their dimension
    changes on the way, so that sizes must be those of the whole. ends: what needs whole features, or
    returns them; "" for nothing.
    """

    path: str
    row_dimension: int
    readers: tuple[str, ...] = ()
    partners: tuple[str, ...] = ()
    parts: int = 0
    is_viewed: bool = False
    ends: str = ""


@dataclass(frozen=True)
class TorchScores:
    """Results of a layer that go to the loss.

    classes: of a cross entropy; 0 if another op needs all, `ends`.
    """

    classes: int = 0
    ends: str = ""


@dataclass(frozen=True)
class TorchModel:
    """A model of PyTorch in its program.

    layers: by path. refused: the classes of modules whose weights no style takes, by path. uncalled: the
    paths of blocks, and of modules in them, whose forward pass is never called. scores: by the path of the
    layer that returns them.
    """

    layers: Mapping[str, TorchLayer] = field(default_factory=dict[str, TorchLayer])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    uncalled: frozenset[str] = frozenset()
    scores: Mapping[str, TorchScores] = field(default_factory=dict[str, TorchScores])


def model_of(function: Operation) -> TorchModel:
    """Returns the model of a function: its layers, and what is noted of their modules."""
    refused, uncalled = dict[str, str](), set[str]()
    arguments = function.regions[0].blocks[0].args
    for argument, notes in zip(arguments, dictionaries_of(function, "arg_attrs"), strict=False):
        path = name_in(argument.location).rpartition(".")[0]
        refused.update((path, name) for name in _texts(notes.data.get(MODULE_CLASS)))
        uncalled |= {*_texts(notes.data.get(UNCALLED))}
    return TorchModel(_layers(function, refused), refused, frozenset(uncalled))


def takes_styles(parameter: SSAValue) -> bool:
    """Returns whether no note says that the class of a parameter's module takes no style."""
    if not isinstance(parameter, BlockArgument) or (function := parameter.owner.parent_op()) is None:
        return True
    notes = dictionaries_of(function, "arg_attrs")
    return not notes or MODULE_CLASS not in notes[parameter.index].data


def _texts(given: Attribute | None) -> list[str]:
    """The texts of a note."""
    value = None if given is None else plain(given)
    return [each for each in (value if is_sequence(value) else (value,)) if isinstance(each, str)]


def _layers(function: Operation, refused: Collection[str]) -> dict[str, TorchLayer]:
    """The layers of a model by path, in the order of its parameters: modules with weight and bias only."""
    block = function.regions[0].blocks[0]
    labels = {name_in(argument.location): argument for argument in block.args}
    others = set(refused)
    for label in filter(_NAME.fullmatch, labels):
        *around, path = accumulate(label.split(".")[:-1], "{}.{}".format)
        others.update(around)
        if label.removeprefix(f"{path}.") not in (_WEIGHT, _BIAS):
            others.add(path)
    weights = {
        path: argument
        for label, argument in labels.items()
        for path, _, kind in (label.rpartition("."),)
        if is_parameter(label) and kind == _WEIGHT and path not in others
    }
    found = {
        path: row for path, weight in weights.items() if (row := _row_dimension(path, weight)) is not None
    }
    own: dict[str, list[Operation]] = {path: [] for path in found}
    for op in block.ops:
        path = _path(op)
        if path in own and not is_backward(op):
            own[path].append(op)
    flows = {path: _flow(path, ops, found) for path, ops in own.items()}
    owners = {key: (path, where) for path, flow in flows.items() for key, where in flow.region.items()}
    trained = _trained(block)
    return {path: _layer(flows[path], row, owners, trained) for path, row in found.items()}


def forward_uses(value: SSAValue) -> list[tuple[Operation, int]]:
    """Returns the ops of the forward pass that read a value, also behind constraints, with the operand."""
    found: list[tuple[Operation, int]] = []
    for use in value.uses:
        op = use.operation
        if isinstance(op, ShardingConstraintOp):
            found += forward_uses(op.results[0])
        elif not isinstance(op, ShardingGroupOp) and not is_backward(op):
            found.append((op, use.index))
    return found


def _row_dimension(path: str, weight: SSAValue) -> int | None:
    """The dimension of rows of a weight; None unless it is a matrix that one kind of op of its module reads.

    That of a linear layer is (outputs, inputs), of whose inputs the product sums; tables are (rows, columns).
    """
    uses = [use for use in forward_uses(weight) if _path(use[0]) not in PHASES]
    type_ = tensor_type(weight.type)
    if type_ is None or len(type_.shape) != _MATRIX or not uses or {_path(op) for op, _ in uses} != {path}:
        return None
    lost = {_lost(op, place) for op, place in uses}
    return lost.pop() if len(lost) == 1 else None


def _lost(op: Operation, place: int) -> int | None:
    rule = rule_of(op)
    if rule is None or len(rule.operands[place]) != _MATRIX:
        return None
    kept = {factor for dimension in rule.results[0] for factor in dimension}
    lost = [d for d, factors in enumerate(rule.operands[place]) if kept.isdisjoint(factors)]
    return lost[0] if lost == [int(_is_product(op))] else None


@dataclass
class _Flow:
    """The values that are computed of the features that a layer returns.

    region: their dimension by the identity of a value. met: other operands of the ops on the way, with the
    dimension that meets the features, and the op.
    """

    path: str
    region: dict[int, int] = field(default_factory=dict[int, int])
    readers: dict[str, None] = field(default_factory=dict[str, None])
    met: list[tuple[SSAValue, int, Operation]] = field(default_factory=list[tuple[SSAValue, int, Operation]])
    parts: int = 0
    is_viewed: bool = False
    ends: str = ""


def _flow(path: str, ops: list[Operation], layers: Mapping[str, int]) -> _Flow:
    flow, left = _Flow(path), list[SSAValue]()
    for value in outputs_of(ops, path):
        type_ = tensor_type(value.type)
        if type_ is not None and type_.shape:
            flow.region[id(value)] = len(type_.shape) - 1
            left.append(value)
    while left and not flow.ends:
        value = left.pop()
        for op, place in forward_uses(value):
            if _path(op) != path:
                left += _followed(flow, op, place, flow.region[id(value)], layers)
    return flow


def _followed(
    flow: _Flow, op: Operation, place: int, dimension: int, layers: Mapping[str, int]
) -> Iterator[SSAValue]:
    """The results of an op on the features that have them too; notes what is met, and what ends the way.

    dimension: that of the features in the operand.
    """
    rule = rule_of(op)
    own = None if rule is None else rule.operands[place]
    if rule is None or own is None or not own[dimension]:
        flow.ends = flow.ends or _name(op)
        return
    factor = own[dimension][0]
    layer = _path(op)
    if _is_product(op) and layers.get(layer) == 1 and place == 0 and dimension == len(own) - 1:
        flow.readers[layer] = None
        return
    kept = [d for mapping in rule.results for d, factors in enumerate(mapping) if factor in factors[:1]]
    if rule.factors[factor].type is not FactorType.PASS_THROUGH or len(kept) != len(rule.results):
        flow.ends = flow.ends or _name(op)
        return
    flow.parts = gcd(flow.parts, rule.factors[factor].size)
    flow.is_viewed |= any(
        len(mapping[d]) > 1
        for mapping in (*rule.operands, *rule.results)
        for d in range(len(mapping))
        if factor in mapping[d]
    )
    for number, (operand, mapping) in enumerate(zip(operands_of(op), rule.operands, strict=False)):
        if number != place:
            along = next((d for d, factors in enumerate(mapping) if factor in factors[:1]), -1)
            flow.met.append((unconstrained(operand), along, op))
    for result, where in zip(op.results, kept, strict=True):
        if flow.region.setdefault(id(result), where) != where:
            flow.ends = flow.ends or _name(op)
        yield result


def _layer(
    flow: _Flow, row_dimension: int, owners: Mapping[int, tuple[str, int]], trained: set[int]
) -> TorchLayer:
    """The layer; what is met of parameters ends the way: its gradient would be of the part of a device."""
    partners = dict[str, None]()
    ends = flow.ends
    for value, dimension, op in flow.met:
        if id(value) in owners:
            owner, where = owners[id(value)]
            if flow.region.get(id(value), where) != dimension:
                ends = ends or _name(op)
            partners[owner] = None
        else:
            origin, along = _before_broadcasts(value, dimension)
            if not _is_of_op(origin, op) and (along >= 0 or id(origin) in trained):
                ends = ends or _name(op)
    partners.pop(flow.path, None)
    ends = ends or ("" if flow.readers else "nothing reads it")
    readers, others = tuple(flow.readers), tuple(partners)
    return TorchLayer(flow.path, row_dimension, readers, others, flow.parts, flow.is_viewed, ends)


def _before_broadcasts(value: SSAValue, dimension: int) -> tuple[SSAValue, int]:
    """The value that is repeated, and the dimension of it that becomes one; -1 where it is repeated along."""
    while isinstance(op := value.owner, BroadcastInDimOp):
        source = operands_of(op)[0]
        places = list(op.broadcast_dimensions.get_values())
        type_, result = tensor_type(source.type), tensor_type(value.type)
        if type_ is None or result is None:
            break
        along = places.index(dimension) if dimension in places else -1
        is_repeated = along < 0 or type_.shape[along] != result.shape[dimension]
        value, dimension = unconstrained(source), -1 if is_repeated else along
    return value, dimension


def unconstrained(value: SSAValue) -> SSAValue:
    """Returns the value before constraints of its sharding, as those of a plan."""
    while isinstance(op := value.owner, ShardingConstraintOp):
        value = operands_of(op)[0]
    return value


def _is_of_op(value: SSAValue, op: Operation) -> bool:
    """True if a value is a constant, or made by the op of torch that the op belongs to."""
    owner = value.owner
    return isinstance(owner, Operation) and (not owner.operands or outer_name(owner) == outer_name(op))


def _trained(block: Block) -> set[int]:
    """The identities of parameters, and of all that is computed of them."""
    found = {
        id(argument)
        for argument in block.args
        if is_parameter(name_in(argument.location))
        or any(_path(use.operation) in PHASES for use in argument.uses)
    }
    for op in block.ops:
        if any(id(operand) in found for operand in operands_of(op)):
            found |= {id(result) for result in op.results}
    return found


def rule_of(op: Operation) -> ShardingRule | None:
    """Returns the sharding rule of an op; None without one."""
    if op.name not in TABLE:
        return None
    record = record_of(op)
    return derive_rule(record) or pointwise_rule(record)


def _is_product(op: Operation) -> bool:
    return op.name in TABLE and TABLE[op.name].kind is Family.PRODUCT


def _path(op: Operation) -> str:
    return outer_name(op).rpartition("/")[0]


def _name(op: Operation) -> str:
    return outer_name(op) or op.name.rpartition(".")[2]
