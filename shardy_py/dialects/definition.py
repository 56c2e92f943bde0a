"""Ops from rows: one short entry says what an op is made of, from which its IRDL class is made.

A row names operands, attributes, results and regions in a small notation: `lhs rhs` two operands, `inputs*`
any number, `compare_type?:comparison_type` an attribute that may be absent, `:kind` what it must be, `=value`
what its absence means (`kinds.py` says what the words mean).

>>> row = OpRow("iota", attributes="iota_dimension:index", results="output")
>>> row.attribute_slots[0].name, row.attribute_slots[0].kind
('iota_dimension', 'index')
>>> make_class("stablehlo", row, lambda kind: None).__name__
'IotaOp'

Not here: how ops read and print (`template.py`); what StableHLO's specification says of shapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import TypeVar, override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrConstraint,
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IntConstraint,
    IRDLOperation,
    SameVariadicOperandSize,
    VerificationContext,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import (
    Commutative,
    ConstantLike,
    EffectInstance,
    HasFolder,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    OpTrait,
    Pure,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from shardy_py.text.xdsl_hooks import DialectOp, PrettyOp, define_op

if TYPE_CHECKING:
    from shardy_py.dialects.template import Template
    from shardy_py.text.syntax import AssemblyForm

_SLOT = re.compile(r"(\w+)([*?]?)(?::(\w+))?(?:=(.*))?\Z")

OPTIONS: dict[str, tuple[Callable[[], Any], ...]] = {
    "pairs": (SameVariadicOperandSize,),
    "segments": (
        lambda: AttrSizedOperandSegments(as_property=True),
        lambda: AttrSizedResultSegments(as_property=True),
    ),
}
"""How operands are shared out where several parts take any number: equally, or as a property says."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand, attribute, result or region in a row.

    many: any number of them. optional: may be absent. kind: the name of what it must be, empty for anything.
    default: the text of the attribute that absence means, None if it means nothing.
    """

    name: str
    many: bool = False
    optional: bool = False
    kind: str = ""
    default: str | None = None

    @property
    def accessor(self) -> str:
        """The name of the Python attribute: as in MLIR, with `_` behind it where every op has one of it."""
        return self.name + "_" if hasattr(Operation, self.name) or self.name in _EVERY_OP else self.name


_EVERY_OP = frozenset(
    {"name", "operands", "results", "regions", "attributes", "properties", "successors", "parent", "location"}
)


def slots(text: str) -> tuple[Slot, ...]:
    """The slots that a row's text names.

    >>> [(slot.name, slot.many) for slot in slots("inputs* token")]
    [('inputs', True), ('token', False)]
    """
    found: list[Slot] = []
    for word in text.split():
        match = _SLOT.match(word)
        if match is None:
            raise ValueError(f"'{word}' is no slot")
        found.append(Slot(match[1], match[2] == "*", match[2] == "?", match[3] or "", match[4]))
    return tuple(found)


@dataclass(frozen=True)
class OpRow:
    """One op.

    name: without the dialect's. operands, attributes, results, regions: slots, see the module's notation.
    form: its pretty form; None if it has none and prints generically.
    traits: words of `TRAITS` and `OPTIONS`.
    names_results: whether the names of its results are hints for those of values, as where there are several.
    """

    name: str
    operands: str = ""
    attributes: str = ""
    results: str = "result"
    regions: str = ""
    form: Template | AssemblyForm | None = None
    traits: str = ""
    names_results: bool = True

    @cached_property
    def operand_slots(self) -> tuple[Slot, ...]:
        """The operands."""
        return slots(self.operands)

    @cached_property
    def attribute_slots(self) -> tuple[Slot, ...]:
        """The inherent attributes."""
        return slots(self.attributes)

    @cached_property
    def result_slots(self) -> tuple[Slot, ...]:
        """The results."""
        return slots(self.results)

    @property
    def class_name(self) -> str:
        """The name of the class: `DotGeneralOp`."""
        return "".join(word.capitalize() for word in re.split(r"[_-]", self.name)) + "Op"

    @property
    def is_commutative_binary(self) -> bool:
        """Whether a reduction may apply it in its short form: StableHLO's commutative ops of two operands."""
        one_result = len(self.result_slots) == 1 and not self.result_slots[0].many
        return (
            "hlo_commutative" in self.traits.split()
            and len(self.operand_slots) == 2
            and one_result
            and not self.regions
        )


@dataclass(frozen=True)
class Described(AttrConstraint):
    """A constraint that fails with MLIR's words for it: `64-bit signless integer attribute`.

    storage: accepts what an op can hold at all; None: anything. What it refuses does not get past the reader.
    """

    description: str
    accepts: Callable[[Any], bool]
    storage: Callable[[Any], bool] | None = None

    @override
    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Fails with the description."""
        if not self.accepts(attr):
            raise VerifyException(self.description)

    @override
    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> AttrConstraint:
        """The constraint itself: it has no type variables."""
        return self


Constraints = Callable[[str], AttrConstraint | None]
"""From the name of a kind to its constraint, None where anything goes."""


class _FoldsToValue(HasFolder):
    """The trait of ops that are their attribute `value`."""

    @override
    @classmethod
    def fold(cls, op: Operation) -> tuple[Attribute]:
        return (op.properties["value"],)


class HloCommutative(OpTrait):
    """Ops of two operands that commute, but which MLIR's folder leaves as they are, as all of StableHLO."""


class FlaggedEffects(MemoryEffect):
    """Ops with every effect if their attribute `has_side_effect` is true, with none otherwise."""

    @override
    @classmethod
    def get_effects(cls, op: Operation) -> frozenset[EffectInstance]:
        flag = op.properties.get("has_side_effect")
        return _ALL_EFFECTS if isinstance(flag, IntegerAttr) and flag.value.data else frozenset()


_ALL_EFFECTS = frozenset(map(EffectInstance, MemoryEffectKind))

TRAITS: dict[str, tuple[Callable[[], OpTrait], ...]] = {
    "pure": (Pure,),
    "no_effect": (NoMemoryEffect,),
    "recursive": (RecursiveMemoryEffect,),
    "flagged": (FlaggedEffects,),
    "reads_and_writes": (MemoryReadEffect, MemoryWriteEffect),
    "commutative": (Commutative,),
    "hlo_commutative": (HloCommutative,),
    "terminator": (IsTerminator,),
    "isolated": (IsolatedFromAbove,),
    "constant": (ConstantLike, _FoldsToValue),
}
"""Traits by the words that rows use."""


def make_class(
    dialect: str, row: OpRow, constraint: Constraints, default: Callable[[str], Attribute] | None = None
) -> type[IRDLOperation]:
    """The IRDL class of a row; default: makes the attribute that a default spells."""
    fields: dict[str, Any] = {
        "name": f"{dialect}.{row.name}",
        "__doc__": f"`{dialect}.{row.name}`.",
        "__module__": f"shardy_py.dialects.{dialect}",
    }
    for slot in row.operand_slots:
        fields[slot.accessor] = (var_operand_def if slot.many else operand_def)(_constraint(slot, constraint))
    for slot in row.attribute_slots:
        fields[slot.accessor] = _property(slot, constraint, default)
    for slot in row.result_slots:
        fields[slot.accessor] = (var_result_def if slot.many else result_def)(_constraint(slot, constraint))
    for slot in slots(row.regions):
        fields[slot.accessor] = var_region_def() if slot.many else region_def("single_block")
    words = row.traits.split()
    traits = [make() for word in words for make in TRAITS.get(word, ())]
    if traits:
        fields["traits"] = traits_def(*traits)
    options = [make() for word in words for make in OPTIONS.get(word, ())]
    if options:
        fields["irdl_options"] = tuple(options)
        if "segments" in words:
            fields["operand_segment_sizes"] = prop_def(prop_name="operandSegmentSizes")
            fields["result_segment_sizes"] = prop_def(prop_name="resultSegmentSizes")
    base = DialectOp if row.form is None else PrettyOp
    return define_op(cast("type[IRDLOperation]", type(row.class_name, (base,), fields)))


def _constraint(slot: Slot, constraint: Constraints) -> Any:
    return constraint(slot.kind) or Attribute if slot.kind else Attribute


def _property(slot: Slot, constraint: Constraints, default: Callable[[str], Attribute] | None) -> Any:
    prop_name = slot.name if slot.accessor != slot.name else None
    if slot.optional:
        return opt_prop_def(_constraint(slot, constraint), prop_name=prop_name)
    value = default(slot.default) if default is not None and slot.default is not None else None
    return prop_def(_constraint(slot, constraint), value, prop_name=prop_name)
