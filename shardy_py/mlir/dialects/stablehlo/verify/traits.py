"""Rules that many ops share: the traits of their definitions.

A rule takes a `View` of an op and raises `Fault`. Messages go on from the op's name, as MLIR's
traits have them. Not here: the rules of single ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Attribute

from shardy_py.mlir.dialects.definition import Rule
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor, read_tensor, same_element
from shardy_py.mlir.dialects.stablehlo.verify.view import View

RETURN = "stablehlo.return"
"""The op that ends regions whose forms may leave it out."""


def _trait(holds: Callable[[View], bool], message: str) -> Rule:
    def rule(view: View) -> None:
        if not holds(view):
            raise Fault(message)

    return rule


def _all_types(view: View) -> tuple[RankedTensor, ...]:
    return (*view.operands, *view.results)


def _same_shapes(view: View) -> bool:
    first, *others = _all_types(view)
    return all(first.is_shaped_as(other) for other in others)


def _equal_elements(types: Iterable[RankedTensor]) -> bool:
    return len({type_.element for type_ in types}) <= 1


def _elements_match(types: Sequence[RankedTensor]) -> bool:
    return all(same_element(types[0].element, other.element) for other in types[1:])


AT_LEAST_ONE = _trait(lambda view: bool(view.operand_types), "expected 1 or more operands, but found 0")
SAME_SHAPE = _trait(_same_shapes, "requires the same shape for all operands and results")
ELEMENTWISE_TYPES = _trait(
    _same_shapes, "all non-scalar operands/results must have the same shape and base type"
)
SAME_ELEMENT = _trait(
    lambda view: _equal_elements(_all_types(view)),
    "requires the same element type for all operands and results",
)
SAME_OPERAND_ELEMENT = _trait(
    lambda view: _equal_elements(view.operands), "requires the same element type for all operands"
)
COMPATIBLE = _trait(
    lambda view: all(other.is_compatible(_all_types(view)[0]) for other in _all_types(view)),
    "requires compatible types for all operands and results",
)
COMPATIBLE_ELEMENTS = _trait(
    lambda view: _elements_match(_all_types(view)),
    "requires compatible element types for all operands and results",
)
COMPATIBLE_OPERAND_ELEMENTS = _trait(
    lambda view: _elements_match(view.operands), "requires compatible element types for all operands"
)


def if_ranked(rule: Rule) -> Rule:
    """The rule for ops whose types are all ranked tensors; CHLO takes unranked ones, too."""

    def ranked_rule(view: View) -> None:
        if view.is_ranked:
            rule(view)

    return ranked_rule


def follows_name(rule: Rule) -> Rule:
    """The rule with messages that go on from the op's name."""

    def named_rule(view: View) -> None:
        try:
            rule(view)
        except Fault as fault:
            raise Fault(str(fault)) from None

    return named_rule


def PAIRWISE(view: View) -> None:
    """As many results as operands, each of its operand's type."""
    _require_pairs(view, "type", lambda a, b: a == b)


def PAIRWISE_ELEMENT(view: View) -> None:
    """As many results as operands, each of its operand's element type."""
    _require_pairs(view, "element type", _equal_element)


def _equal_element(first: Attribute, second: Attribute) -> bool:
    a, b = read_tensor(first), read_tensor(second)
    return first == second if a is None or b is None else a.element == b.element


def _require_pairs(view: View, what: str, equal: Callable[[Attribute, Attribute], bool]) -> None:
    if len(view.operand_types) != len(view.result_types):
        raise Fault("requires the same number of operands and results")
    for index, (operand, result) in enumerate(zip(view.operand_types, view.result_types, strict=True)):
        if not equal(operand, result):
            message = f"requires the same {what} for operand and result at index {index}"
            raise Fault(message)


_READERS: dict[str, Callable[[RankedTensor], object]] = {
    "element type": lambda tensor: tensor.element,
    "type": lambda tensor: tensor,
    "rank": lambda tensor: tensor.rank,
}


def match(what: str, *names: str) -> Rule:
    """The operands of these names, or `result`, have one `what`: element type, type or rank."""
    read = _READERS[what]

    def holds(view: View) -> bool:
        groups = (view.results[:1] if name == "result" else view.group(name) for name in names)
        return len({read(tensor) for group in groups for tensor in group}) <= 1

    return _trait(holds, f"failed to verify that all of {{{', '.join(names)}}} have same {what}")


def match_lengths(*names: str) -> Rule:
    """The array attributes of these names have one length."""
    return _trait(
        lambda view: len({len(view.integers(name)) for name in names}) == 1,
        f"failed to verify that all of {{{', '.join(names)}}} have same size",
    )
