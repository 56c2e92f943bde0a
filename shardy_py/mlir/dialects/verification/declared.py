"""Checks of an op against its IRDL definition: numbers of operands, results, regions; properties; types.

xDSL checks the same, in some hundred microseconds an op and with other messages; here each definition is
compiled once into counts and constraints. Not here: verifiers of dialects; the surroundings of an op.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from xdsl import irdl
from xdsl.dialects import builtin
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.text.attribute_writer import attribute_text


@dataclass(frozen=True, slots=True)
class _Part:
    """One operand, result or region of a definition."""

    name: str
    is_variadic: bool
    is_optional: bool
    constraint: irdl.AttrConstraint | None


@dataclass(frozen=True, eq=False)
class _Side:
    """All operands, results or regions of a definition.

    segments: the property with the number of values of each part; None if it follows from the total.
    """

    parts: tuple[_Part, ...]
    segments: str | None = None

    @cached_property
    def minimum(self) -> int:
        """The minimum number of values."""
        return sum(not part.is_variadic for part in self.parts)

    @cached_property
    def is_fixed(self) -> bool:
        """Returns whether the number of values is fixed."""
        return self.minimum == len(self.parts)


@dataclass(frozen=True, slots=True)
class _Definition:
    operands: _Side
    results: _Side
    regions: _Side
    properties: tuple[tuple[str, bool, irdl.AttrConstraint | None], ...]


def check_declared(op: Operation, *, with_results: bool = True) -> None:
    """Counts of operands, results and regions; properties required; constraints of properties and types.

    with_results: False for an op that has yet to get the types of its results.
    """
    definition = _definition_of(type(op))
    if definition is None:
        return
    operands, results = [v.type for v in op.operands], [v.type for v in op.results]
    _check_count(definition.regions, len(op.regions), "region")
    if with_results:
        _check_count(definition.results, len(results), "result")
    _check_count(definition.operands, len(operands), "operand")
    _check_segments(definition.operands, op, len(operands), "operand")
    if with_results:
        _check_segments(definition.results, op, len(results), "result")
    context = irdl.VerificationContext()
    for name, is_optional, constraint in definition.properties:
        attribute = op.properties.get(name)
        if attribute is None:
            if not is_optional:
                raise Fault(f"requires attribute '{name}'")
        elif constraint is not None and (reason := _broken(constraint, attribute, context)) is not None:
            raise Fault(f"attribute '{name}' failed to satisfy constraint: {reason}")
    _check_types(definition.operands, op, operands, "operand", context)
    if with_results:
        _check_types(definition.results, op, results, "result", context)


def check_single_block(op: Operation, name: str = "body") -> None:
    """The region `name` of an op has one block."""
    blocks = len(op.regions[0].blocks)
    if blocks > 1:
        raise Fault("expects region #0 to have 0 or 1 blocks")
    if not blocks:
        raise Fault(f"region #0 ('{name}') failed to verify constraint: region with 1 blocks")


def _check_count(side: _Side, count: int, what: str) -> None:
    minimum = side.minimum
    got = f", but found {count}" if what == "operand" else ""
    if side.is_fixed and count != minimum:
        if minimum == 0:
            raise Fault(f"requires zero {what}s")
        if minimum == 1:
            raise Fault(f"requires {'a single' if what == 'operand' else 'one'} {what}")
        raise Fault(f"expected {minimum} {what}s{got}")
    if count < minimum:
        raise Fault(f"expected {minimum} or more {what}s{got}")


def check_shares(op: Operation) -> None:
    """Groups of equally many operands leave none over; MLIR ignores those that are."""
    definition, count = _definition_of(type(op)), len(op.operands)
    side = None if definition is None else definition.operands
    if side is None:
        return
    groups = [part.name for part in side.parts if part.is_variadic]
    if side.segments is None and len(groups) > 1 and (count - side.minimum) % len(groups):
        raise Fault(f"expects as many {' as '.join(groups)}, but got {count} operands")


def _check_segments(side: _Side, op: Operation, count: int, what: str) -> None:
    if side.segments is None:
        return
    sizes = _segment_sizes(op, side.segments)
    if sizes is None:
        raise Fault(f"requires attribute '{side.segments}'")
    if any(size < 0 for size in sizes):
        raise Fault(f"'{side.segments}' attribute cannot have negative elements")
    if sum(sizes) != count:
        raise Fault(
            f"{what} count ({count}) does not match with the total size ({sum(sizes)}) specified in "
            f"attribute '{side.segments}'"
        )
    if len(sizes) != len(side.parts):
        raise Fault(
            f"'{side.segments}' attribute for specifying {what} segments must have {len(side.parts)} "
            f"elements, but got {len(sizes)}"
        )


def _segment_sizes(op: Operation, name: str) -> tuple[int, ...] | None:
    """The sizes in a segments property, None if it is absent or of another kind."""
    segments = op.properties.get(name) or op.attributes.get(name)
    return tuple(segments.get_values()) if isinstance(segments, builtin.DenseArrayBase) else None


def _check_types(
    side: _Side, op: Operation, types: Sequence[Attribute], what: str, context: irdl.VerificationContext
) -> None:
    if all(part.constraint is None for part in side.parts):
        return
    for index, (part, type_) in enumerate(zip(_spread(side, op, len(types)), types, strict=False)):
        if part.constraint is not None and (reason := _broken(part.constraint, type_, context)) is not None:
            kind = f"variadic of {reason}" if part.is_variadic else reason
            raise Fault(f"{what} #{index} must be {kind}, but got '{attribute_text(type_)}'")


def spread(op: Operation) -> tuple[str, ...]:
    """For each operand the name of the part of the op's definition that it belongs to."""
    definition = _definition_of(type(op))
    if definition is None:
        return ()
    return tuple([part.name for part in _spread(definition.operands, op, len(op.operands))])


def region_names(op: Operation) -> tuple[str | None, ...]:
    """For each region the name of its part of the definition, None if it may have any number of blocks."""
    definition = _definition_of(type(op))
    if definition is None:
        return ()
    parts = _spread(definition.regions, op, len(op.regions))
    return tuple(None if part.name == "composite_regions" else part.name for part in parts)


def _spread(side: _Side, op: Operation, count: int) -> tuple[_Part, ...]:
    """For each value the part it belongs to."""
    if side.segments is not None:
        sizes = _segment_sizes(op, side.segments) or ()
        return tuple(part for part, size in zip(side.parts, sizes, strict=False) for _ in range(size))
    return _equal_shares(side, count)


@SESSION.cache(4096)
def _equal_shares(side: _Side, count: int) -> tuple[_Part, ...]:
    """The parts of `count` values where those of any number are equally large."""
    variadic = len(side.parts) - side.minimum
    each = (count - side.minimum) // variadic if variadic else 0
    return tuple(part for part in side.parts for _ in range(each if part.is_variadic else 1))


def _broken(
    constraint: irdl.AttrConstraint, attribute: Attribute, context: irdl.VerificationContext
) -> str | None:
    """Why `attribute` does not satisfy `constraint`; None if it does."""
    try:
        constraint.verify(attribute, context)
    except (VerifyException, NotImplementedError, ValueError) as error:  # xDSL cannot print all attributes
        return _described(constraint) or str(error).partition("\n")[0]
    return None


def _described(constraint: irdl.AttrConstraint) -> str | None:
    """MLIR's description of the attributes that satisfy a constraint."""
    if isinstance(constraint, irdl.BaseAttr):
        return _DESCRIPTIONS.get(constraint.attr)
    if isinstance(constraint, irdl.MessageConstraint):
        return _MESSAGES.get(constraint.message)
    return None


_MESSAGES = {"Expected SymbolRefAttr with no nested symbols.": "flat symbol reference attribute"}
_DESCRIPTIONS: dict[object, str] = {
    builtin.ArrayAttr: "array attribute",
    builtin.DenseArrayBase: "i64 dense array attribute",
    builtin.DictionaryAttr: "dictionary of named attribute values",
    builtin.FunctionType: "type attribute of function type",
    builtin.IntegerAttr: "64-bit signless integer attribute",
    builtin.StringAttr: "string attribute",
    builtin.SymbolRefAttr: "symbol reference attribute",
}


@lru_cache(maxsize=4096)
def _definition_of(op_class: object) -> _Definition | None:
    read = getattr(op_class, "get_irdl_definition", None)
    if read is None:
        return None
    definition = read()
    options: dict[Any, Any] = {type(option): option for option in definition.options}
    return _Definition(
        operands=_side(definition.operands, options.get(irdl.AttrSizedOperandSegments)),
        results=_side(definition.results, options.get(irdl.AttrSizedResultSegments)),
        regions=_side(definition.regions, None),
        properties=tuple(
            (name, isinstance(part, irdl.OptPropertyDef) or part.default_value is not None, _constraint(part))
            for name, part in definition.properties.items()
        ),
    )


def _side(parts: Sequence[tuple[str, object]], option: Any) -> _Side:
    return _Side(
        tuple(
            _Part(
                name,
                isinstance(part, irdl.VariadicDef),
                isinstance(part, irdl.OptionalDef),
                _constraint(part),
            )
            for name, part in parts
        ),
        option.attribute_name if option is not None else None,
    )


def _constraint(part: object) -> irdl.AttrConstraint | None:
    """The constraint on an attribute or on the type of a value; None if anything goes."""
    constraint = getattr(part, "constr", None)
    while constraint is not None and not isinstance(constraint, irdl.AttrConstraint):
        # A range of types holds the constraint on each; one of a given length holds such a range.
        constraint = getattr(constraint, "constr", None) or getattr(constraint, "constraint", None)
    if not isinstance(constraint, irdl.AttrConstraint) or isinstance(constraint, irdl.AnyAttr):
        return None
    return constraint  # pyright: ignore[reportUnknownVariableType]
