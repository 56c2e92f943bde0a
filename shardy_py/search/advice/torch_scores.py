"""Layers of PyTorch that return the scores of a cross entropy, of which `loss_parallel` takes a part.

    lm_head -> view -> log_softmax -> gather at the labels      64 classes, of which a device has a part
    lm_head -> view -> sub target                               whole rows: sub needs them

Under `loss_parallel`, DTensor computes `cross_entropy` of scores that are sharded along their classes. It
does so only for labels that are numbers, without weights of classes and smoothing of labels.

Not here: features between layers (`torch_layers.py`), the code (`shardy_py.search.suggest`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.stablehlo import GatherOp, ReshapeOp, SelectOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.module_paths import is_backward, outer_name, outputs_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.search.advice.torch_layers import TorchLayer, TorchScores, forward_uses, rule_of
from shardy_py.sharding.rule import FactorType

_SOFTMAX = "_log_softmax"
"""The name of torch's op between scores and the loss."""


def scores_of(function: Operation, layers: Mapping[str, TorchLayer]) -> dict[str, TorchScores]:
    """Returns the scores that linear layers return to the loss, by path of the layer."""
    heads = {path for path, layer in layers.items() if layer.row_dimension and not layer.readers}
    own: dict[str, list[Operation]] = {path: [] for path in heads}
    for op in function.regions[0].blocks[0].ops:
        path = outer_name(op).rpartition("/")[0]
        if path in own and not is_backward(op):
            own[path].append(op)
    found = {path: _scores(path, outputs_of(ops, path)) for path, ops in own.items()}
    return {path: scores for path, scores in found.items() if scores is not None}


def _scores(path: str, values: list[SSAValue]) -> TorchScores | None:
    """The scores that a layer returns; None where the function returns them, or nothing reads them."""
    left = [(value, len(type_.shape) - 1) for value in values if (type_ := tensor_type(value.type))]
    if not left:
        return None
    classes = {_size(value, dimension) for value, dimension in left}
    while left:
        value, dimension = left.pop()
        for op, place in forward_uses(value):
            name = outer_name(op)
            if name.rpartition("/")[0] == path:
                continue
            if name.rpartition("/")[2] == _SOFTMAX:
                if not _is_of_labels(value, dimension):
                    return TorchScores(ends=name)
                continue
            if not op.results:
                return None
            kept = [*_kept(op, place, dimension)]
            if not kept:
                return TorchScores(ends=name)
            left += kept
    return TorchScores(classes.pop()) if len(classes) == 1 else None


def _kept(op: Operation, place: int, dimension: int) -> Iterator[tuple[SSAValue, int]]:
    """The results of an op of one tensor that have the classes as a dimension of their own, with it."""
    rule = rule_of(op)
    others = [each for number, each in enumerate(operands_of(op)) if number != place]
    if rule is None or not rule.operands[place][dimension] or not all(map(_is_constant, others)):
        return
    factors = rule.operands[place][dimension]
    if len(factors) != 1 or rule.factors[factors[0]].type is not FactorType.PASS_THROUGH:
        return
    for result, mapping in zip(op.results, rule.results, strict=True):
        along = [d for d, each in enumerate(mapping) if tuple(each) == tuple(factors)]
        if len(along) != 1:
            return
        yield result, along[0]


def _is_of_labels(scores: SSAValue, dimension: int) -> bool:
    """Returns whether only the loss of labels that are numbers reads the softmax of scores, over the classes.

    The loss gathers the scores at labels that are not ignored.
    """
    shape = _shape(scores)
    rest = shape[:dimension] + shape[dimension + 1 :]
    left, seen, results = [scores], {id(scores)}, list[tuple[Operation, SSAValue]]()
    while left:
        value = left.pop()
        for op, _ in forward_uses(value):
            is_softmax = outer_name(op).rpartition("/")[2] == _SOFTMAX
            is_view = isinstance(op, ReshapeOp) and value is not scores
            if not (is_softmax or is_view):
                results += [(op, value)] if value is not scores else []
                continue
            if is_softmax and any(_shape(each) not in (shape, rest) for each in op.results):
                return False
            left += [each for each in op.results if id(each) not in seen]
            seen |= {id(each) for each in op.results}
    return bool(results) and all(_gathers_labels(op, value) for op, value in results)


def _gathers_labels(op: Operation, scores: SSAValue) -> bool:
    """Returns whether an op gathers scores at labels, of which those that are ignored are replaced."""
    if not isinstance(op, GatherOp) or op.operands[0] is not scores:
        return False
    labels = op.operands[1]
    while isinstance(labels.owner, ReshapeOp):
        labels = labels.owner.operands[0]
    return isinstance(labels.owner, SelectOp)


def _is_constant(value: SSAValue) -> bool:
    """Returns whether a value is computed from no argument, as a factor of all scores is."""
    owner = value.owner
    return isinstance(owner, Operation) and all(map(_is_constant, operands_of(owner)))


def _shape(value: SSAValue) -> tuple[int, ...]:
    type_ = tensor_type(value.type)
    return () if type_ is None else tuple(size or 0 for size in type_.shape)


def _size(value: SSAValue, dimension: int) -> int:
    return _shape(value)[dimension]
