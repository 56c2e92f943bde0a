"""The steps of a verifier: traits that many ops share, and how rules become faults.

`table.py` puts them together. A step looks at a `View` and yields faults; the first step that finds any ends
the verifier, as in MLIR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Attribute

from shardy_py.dialects.stablehlo.verify.kinds import KINDS, describe
from shardy_py.dialects.stablehlo.verify.tensors import (
    Broken,
    Tensor,
    compatible,
    read_tensor,
    same_element,
    same_shape,
)
from shardy_py.dialects.stablehlo.verify.view import View
from shardy_py.dialects.verification.declared import region_names, spread
from shardy_py.dialects.verification.faults import Fault, Faults
from shardy_py.text.attribute_writer import attribute_text

Step = Callable[[View], Faults]
Infer = Callable[[View], Sequence[Tensor | Attribute]]
Check = Callable[[View], None]


def operand_kinds(words: str) -> Step:
    """Operands are of these kinds, one word a part of the op's definition."""
    parts = words.split()

    def step(view: View) -> Faults:
        names = spread(view.op)
        order = list(dict.fromkeys(names))
        by_name = _by_part(parts, order, names)
        for index, (type_, name) in enumerate(zip(view.operand_types, names, strict=False)):
            yield from _kind_fault(by_name.get(name), type_, f"operand #{index}")

    return step


def _by_part(parts: Sequence[str], order: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The kind of each part; a part that takes any number may have no operand here."""
    if len(parts) == len(order):
        return dict(zip(order, parts, strict=True))
    fixed = [part for part in parts if not part.endswith("*")]
    return dict(zip(order, fixed, strict=True)) if len(fixed) == len(order) else {}


def result_kinds(words: str) -> Step:
    """Results are of these kinds, the last one of all that follow."""
    parts = words.split()

    def step(view: View) -> Faults:
        for index, type_ in enumerate(view.result_types if parts else ()):
            yield from _kind_fault(parts[min(index, len(parts) - 1)], type_, f"result #{index}")

    return step


def _kind_fault(word: str | None, type_: Attribute, what: str) -> Faults:
    if word is not None and not KINDS[word.removesuffix("*")].accepts(type_):
        yield Fault(f"{what} must be {describe(word)}, but got '{attribute_text(type_)}'")


def has_blocks(view: View) -> Faults:
    """Each region that must have one block has it."""
    for index, (name, region) in enumerate(zip(region_names(view.op), view.op.regions, strict=False)):
        if name is not None and len(region.blocks) != 1:
            yield Fault(f"region #{index} ('{name}') failed to verify constraint: region with 1 blocks")


# ---------------------------------------------------------------------- traits


def _require(holds: Callable[[View], bool], message: str) -> Step:
    def step(view: View) -> Faults:
        if not holds(view):
            yield Fault(message)

    return step


def AT_LEAST_ONE(view: View) -> Faults:
    """There is an operand."""
    if not view.operand_types:
        yield Fault("expected 1 or more operands, but found 0")


def _all_types(view: View) -> tuple[Tensor, ...]:
    return (*view.operands, *view.results)


def _same_shapes(types: Sequence[Tensor]) -> bool:
    return all(same_shape(types[0].sizes, other.sizes) for other in types[1:])


def _equal_elements(types: Iterable[Tensor]) -> bool:
    return len({type_.element for type_ in types}) <= 1


def _elements_match(types: Sequence[Tensor]) -> bool:
    return all(same_element(types[0].element, other.element) for other in types[1:])


SAME_SHAPE = _require(
    lambda view: _same_shapes(_all_types(view)), "requires the same shape for all operands and results"
)
ELEMENTWISE = _require(
    lambda view: _same_shapes(_all_types(view)),
    "all non-scalar operands/results must have the same shape and base type",
)
SAME_ELEMENT = _require(
    lambda view: _equal_elements(_all_types(view)),
    "requires the same element type for all operands and results",
)
SAME_OPERAND_ELEMENT = _require(
    lambda view: _equal_elements(view.operands), "requires the same element type for all operands"
)
COMPATIBLE = _require(
    lambda view: all(compatible(other, _all_types(view)[0]) for other in _all_types(view)),
    "requires compatible types for all operands and results",
)
COMPATIBLE_ELEMENTS = _require(
    lambda view: _elements_match(_all_types(view)),
    "requires compatible element types for all operands and results",
)
COMPATIBLE_OPERAND_ELEMENTS = _require(
    lambda view: _elements_match(view.operands), "requires compatible element types for all operands"
)


def PAIRWISE(view: View) -> Faults:
    """As many results as operands, each of its operand's type."""
    yield from _pairwise(view, "type", lambda a, b: a == b)


def PAIRWISE_ELEMENT(view: View) -> Faults:
    """As many results as operands, each of its operand's element type."""
    yield from _pairwise(view, "element type", _equal_element)


def _equal_element(first: Attribute, second: Attribute) -> bool:
    a, b = read_tensor(first), read_tensor(second)
    return first == second if a is None or b is None else a.element == b.element


def _pairwise(view: View, what: str, equal: Callable[[Attribute, Attribute], bool]) -> Faults:
    if len(view.operand_types) != len(view.result_types):
        yield Fault("requires the same number of operands and results")
        return
    for index, (operand, result) in enumerate(zip(view.operand_types, view.result_types, strict=True)):
        if not equal(operand, result):
            yield Fault(f"requires the same {what} for operand and result at index {index}")
            return


def match_elements(*names: str) -> Step:
    """The parts of these names, `result` among them, have one element type."""
    return _matching(names, "element type", lambda tensor: tensor.element)


def match_types(*names: str) -> Step:
    """The parts of these names have one type."""
    return _matching(names, "type", lambda tensor: tensor)


def match_ranks(*names: str) -> Step:
    """The parts of these names have one rank."""
    return _matching(names, "rank", lambda tensor: tensor.rank)


def _matching(names: Sequence[str], what: str, read: Callable[[Tensor], object]) -> Step:
    def holds(view: View) -> bool:
        found: list[Tensor] = []
        for name in names:
            found += view.results[:1] if name == "result" else view.group(name)
        return len({read(tensor) for tensor in found}) <= 1

    return _require(holds, f"failed to verify that all of {{{', '.join(names)}}} have same {what}")


def match_lengths(*names: str) -> Step:
    """The array attributes of these names have one length."""
    return _require(
        lambda view: len({len(view.integers(name)) for name in names}) == 1,
        f"failed to verify that all of {{{', '.join(names)}}} have same size",
    )


# ---------------------------------------------------------------------- rules


def check(rule: Check) -> Step:
    """A rule that says its message itself."""

    def step(view: View) -> Faults:
        try:
            rule(view)
        except Broken as broken:
            yield Fault(str(broken), is_plain=True)

    return step


def check_op(rule: Check) -> Step:
    """A rule whose message goes on from the op's name."""

    def step(view: View) -> Faults:
        try:
            rule(view)
        except Broken as broken:
            yield Fault(str(broken))

    return step


def results_are(rule: Infer) -> Step:
    """The results are those that `rule` gives."""

    def step(view: View) -> Faults:
        try:
            expected = rule(view)
        except Broken as broken:
            yield Fault(str(broken), is_plain=True, is_followed=True)
            yield Fault("failed to infer returned types")
            return
        given = view.result_types
        pairs = zip(expected, given, strict=False)
        if len(expected) != len(given) or not all(_fits(want, type_) for want, type_ in pairs):
            wanted = ", ".join(_text(want) for want in expected)
            have = ", ".join(f"'{attribute_text(type_)}'" for type_ in given)
            yield Fault(
                f"inferred type(s) {wanted} are incompatible with return type(s) of operation {have}",
                is_followed=True,
            )
            yield Fault("failed to infer returned types")

    return step


def _fits(expected: Tensor | Attribute, given: Attribute) -> bool:
    if isinstance(expected, Attribute):
        wanted, tensor = read_tensor(expected), read_tensor(given)
        if wanted is not None and tensor is not None:
            return compatible(wanted, tensor)
        return expected == given
    tensor = read_tensor(given)
    return tensor is not None and compatible(expected, tensor)


def _text(type_: Tensor | Attribute) -> str:
    return str(type_) if isinstance(type_, Tensor) else f"'{attribute_text(type_)}'"
