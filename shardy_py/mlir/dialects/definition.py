"""Ops from rows: a row states the definition, form, traits and verifier of an op; its class is made from it.

A row opens with the op's signature: traits, name, operands, inherent attributes, regions, results.

    pure concatenate(inputs*:tensor) <dimension:index> -> result:tensor
    recursive pairs reduce(inputs*:tensor init_values*:tensor) <dimensions:integers> [body] -> results*:tensor

`lhs:tensor rhs:tensor` are two operands of a kind, `inputs*` any number of them,
`compare_type?:comparison_type` an attribute that may be absent, `=value` the attribute that absence stands
for. A dialect's `Notation` defines the kinds (`kinds.py`); `TRAITS` and `OPTIONS` define the traits.

>>> from shardy_py.mlir.dialects.kinds import KINDS
>>> row = OpRow("pure iota() <iota_dimension:index> -> output")
>>> row.traits, row.attribute_slots[0].name, row.attribute_slots[0].kind
(('pure',), 'iota_dimension', 'index')
>>> make_class(row, Notation("demo", KINDS)).__name__
'IotaOp'

Not here: how ops read and print (`template.py`), rules that StableHLO's specification states
(`stablehlo/verify/`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import TypeVar, override
from xdsl import irdl, traits
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.mlir.dialects.kinds import Notation
from shardy_py.mlir.dialects.sdy.interfaces import (
    BranchDataFlow,
    ConditionalDataFlow,
    EachOperandDataFlow,
    LoopDataFlow,
)
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp, define_op

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.stablehlo.verify.tensors import Tensor
    from shardy_py.mlir.dialects.stablehlo.verify.view import View
    from shardy_py.mlir.dialects.template import Template
    from shardy_py.mlir.dialects.verification.driver import PlacedCheck
    from shardy_py.mlir.text.syntax import AssemblyForm

_SIGNATURE = re.compile(r"((?:\w+ )*)([\w-]+)\((.*?)\)(?: <(.*)>)?(?: \[(.*)\])?(?: -> (.*))?\Z")
_SLOT = re.compile(r"(\w+)([*?]?)(?::(\w+))?(?:=(.*))?\Z")

OPTIONS: dict[str, tuple[Callable[[], irdl.IRDLOption], ...]] = {
    "reads_constants": (),
    "pairs": (irdl.SameVariadicOperandSize,),
    "segments": (
        lambda: irdl.AttrSizedOperandSegments(as_property=True),
        lambda: irdl.AttrSizedResultSegments(as_property=True),
    ),
}
"""Traits that are none of the class: the division of operands among several variadic slots (equally, or by a
property), and whether the verifier reads constants."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand, attribute, result or region in a row.

    many: any number of them. optional: may be absent. kind: a name of the dialect's notation, empty for
    anything.
    default: the name of the attribute that absence stands for, None if there is none.
    """

    name: str
    many: bool = False
    optional: bool = False
    kind: str = ""
    default: str | None = None

    @property
    def accessor(self) -> str:
        """The Python attribute: the name in MLIR, with `_` appended where every op has that attribute."""
        return self.name + "_" if hasattr(Operation, self.name) or self.name in _EVERY_OP else self.name


_EVERY_OP = frozenset(
    {"name", "operands", "results", "regions", "attributes", "properties", "successors", "parent", "location"}
)


def slots(text: str) -> tuple[Slot, ...]:
    """The slots of a column of a row.

    >>> [(slot.name, slot.many) for slot in slots("inputs* token")]
    [('inputs', True), ('token', False)]
    """
    parsed: list[Slot] = []
    for entry in text.split():
        match = _SLOT.match(entry)
        if match is None:
            raise ValueError(f"invalid slot '{entry}'")
        parsed.append(Slot(match[1], match[2] == "*", match[2] == "?", match[3] or "", match[4]))
    return tuple(parsed)


Rule = Callable[["View"], None]
"""A rule of a verifier; raises `Fault`."""
Infer = Callable[["View"], "Sequence[Tensor | Attribute]"]
"""From the operands and attributes of an op, the types of its results; raises `Fault`."""
ResultNames = Callable[[Any], "Sequence[str | None]"]
ArgumentNames = Callable[[Any, int], "Sequence[str | None]"]


@dataclass(frozen=True)
class OpRow:
    """One op.

    signature: as the module describes it. form: its assembly form; None if it prints generically.
    verify: rules checked before the ops in its regions, in C++'s order.
    infer: the types of its results, compared with the given ones once the op's regions are verified.
    verify_symbols: checks the symbols that the op refers to, at the end of the module.
    result_names: hints for the names of its results; by default, names of slots if there are several.
    argument_names: hints for the names of the block arguments of a region.
    """

    signature: str
    form: Template | AssemblyForm | None = None
    verify: tuple[Rule, ...] = ()
    infer: Infer | None = None
    verify_symbols: PlacedCheck | None = None
    result_names: ResultNames | None = None
    argument_names: ArgumentNames | None = None

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        match = _SIGNATURE.match(self.signature)
        if match is None:
            raise ValueError(f"invalid signature '{self.signature}'")
        return match.groups("")

    @cached_property
    def traits(self) -> tuple[str, ...]:
        """The names of its traits."""
        return tuple(self._columns[0].split())

    @cached_property
    def name(self) -> str:
        """The name without the dialect's."""
        return self._columns[1]

    @cached_property
    def operand_slots(self) -> tuple[Slot, ...]:
        """The operands."""
        return slots(self._columns[2])

    @cached_property
    def attribute_slots(self) -> tuple[Slot, ...]:
        """The inherent attributes."""
        return slots(self._columns[3])

    @cached_property
    def region_slots(self) -> tuple[Slot, ...]:
        """The regions."""
        return slots(self._columns[4])

    @cached_property
    def result_slots(self) -> tuple[Slot, ...]:
        """The results."""
        return slots(self._columns[5])

    @property
    def needs_constants(self) -> bool:
        """Returns whether rules depend on operands that are constants, not on types and attributes alone."""
        return "reads_constants" in self.traits

    @property
    def class_name(self) -> str:
        """The name of the class: `DotGeneralOp`."""
        return "".join(word.capitalize() for word in re.split(r"[_-]", self.name) if word) + "Op"

    @property
    def value_names(self) -> ResultNames | None:
        """Hints for the names of results, as MLIR derives them: the slots of ops with several results."""
        if self.result_names is not None or len(self.result_slots) < 2:
            return self.result_names
        if any(slot.many for slot in self.result_slots):
            return None
        names = tuple(slot.name for slot in self.result_slots)
        return lambda op: names


@dataclass(frozen=True)
class Described(irdl.AttrConstraint):
    """A constraint that fails with MLIR's description: `64-bit signless integer attribute`.

    storage: accepts the attributes that the op can hold in C++; None: any. The reader rejects the others.
    """

    description: str
    accepts: Callable[[Any], bool]
    storage: Callable[[Any], bool] | None = None

    @override
    def verify(self, attr: Attribute, constraint_context: irdl.VerificationContext) -> None:
        """Fails with the description."""
        if not self.accepts(attr):
            raise VerifyException(self.description)

    @override
    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, irdl.AttrConstraint | irdl.IntConstraint]
    ) -> irdl.AttrConstraint:
        """The constraint itself: it has no type variables."""
        return self


class _FoldsToValue(traits.HasFolder):
    """The trait of ops that are their attribute `value`."""

    @override
    @classmethod
    def fold(cls, op: Operation) -> tuple[Attribute]:
        return (op.properties["value"],)


class HloCommutative(traits.OpTrait):
    """Ops of two operands that commute, but which MLIR's folder leaves as they are, as all of StableHLO."""


class Asynchronous(traits.OpTrait):
    """Ops that an `async_start` may hold: collectives and slices."""


class FlaggedEffects(traits.MemoryEffect):
    """Ops with every effect if their attribute `has_side_effect` is true, with none otherwise."""

    @override
    @classmethod
    def get_effects(cls, op: Operation) -> frozenset[traits.EffectInstance]:
        flag = op.properties.get("has_side_effect")
        return _ALL_EFFECTS if isinstance(flag, IntegerAttr) and flag.value.data else frozenset()


_ALL_EFFECTS = frozenset(map(traits.EffectInstance, traits.MemoryEffectKind))

TRAITS: dict[str, tuple[Callable[[], traits.OpTrait], ...]] = {
    "pure": (traits.Pure,),
    "no_effect": (traits.NoMemoryEffect,),
    "recursive": (traits.RecursiveMemoryEffect,),
    "flagged": (FlaggedEffects,),
    "reads_and_writes": (traits.MemoryReadEffect, traits.MemoryWriteEffect),
    "commutative": (traits.Commutative,),
    "hlo_commutative": (HloCommutative,),
    "async": (Asynchronous,),
    "terminator": (traits.IsTerminator,),
    "isolated": (traits.IsolatedFromAbove,),
    "constant": (traits.ConstantLike, _FoldsToValue),
    "loop_flow": (LoopDataFlow,),
    "branch_flow": (BranchDataFlow,),
    "conditional_flow": (ConditionalDataFlow,),
    "operand_flow": (EachOperandDataFlow,),
}
"""Traits by the names that rows use."""


def make_class(row: OpRow, notation: Notation) -> type[irdl.IRDLOperation]:
    """The IRDL class of a row."""
    from shardy_py.mlir.dialects.construction import constructor

    dialect = notation.dialect
    fields: dict[str, Any] = {
        "name": f"{dialect}.{row.name}",
        "__doc__": f"`{dialect}.{row.name}`.",
        "__module__": f"shardy_py.mlir.dialects.{dialect}",
        "__init__": constructor(row, notation),
    }
    for slot in row.operand_slots:
        fields[slot.accessor] = (irdl.var_operand_def if slot.many else irdl.operand_def)(
            _type(slot, notation)
        )
    for slot in row.attribute_slots:
        fields[slot.accessor] = _property(slot, notation)
    for slot in row.result_slots:
        fields[slot.accessor] = (irdl.var_result_def if slot.many else irdl.result_def)(_type(slot, notation))
    for slot in row.region_slots:
        fields[slot.accessor] = irdl.var_region_def() if slot.many else irdl.region_def("single_block")
    unknown = next((word for word in row.traits if word not in TRAITS and word not in OPTIONS), None)
    if unknown is not None:
        raise ValueError(f"unknown trait '{unknown}' of '{row.name}'")
    traits = [make() for word in row.traits for make in TRAITS.get(word, ())]
    if traits:
        fields["traits"] = irdl.traits_def(*traits)
    options = [make() for word in row.traits for make in OPTIONS.get(word, ())]
    if options:
        fields["irdl_options"] = tuple(options)
        if "segments" in row.traits:
            fields["operand_segment_sizes"] = irdl.prop_def(prop_name="operandSegmentSizes")
            fields["result_segment_sizes"] = irdl.prop_def(prop_name="resultSegmentSizes")
    base = DialectOp if row.form is None else PrettyOp
    return define_op(cast("type[irdl.IRDLOperation]", type(row.class_name, (base,), fields)))


def _type(slot: Slot, notation: Notation) -> irdl.AttrConstraint:
    if not slot.kind:
        return irdl.AnyAttr()
    kind = notation.types[slot.kind]
    return Described(kind.description, kind.accepts)


def _property(slot: Slot, notation: Notation) -> Any:
    kind = notation.kinds[slot.kind]
    constraint = Described(kind.description, kind.accepts, kind.storage)
    prop_name = slot.name if slot.accessor != slot.name else None
    if slot.optional:
        return irdl.opt_prop_def(constraint, prop_name=prop_name)
    default = None if slot.default is None else notation.defaults[slot.default]
    return irdl.prop_def(constraint, default, prop_name=prop_name)
