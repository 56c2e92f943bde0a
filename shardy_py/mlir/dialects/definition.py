"""Ops from rows: a row states the definition, form, traits and verifier of an op; its class is made from it.

    OpRow(
        "reduce",
        operands=slots(inputs=many(t.TENSOR), init_values=many(t.TENSOR)),
        attributes=slots(dimensions=k.INTEGERS),
        regions=regions("body"),
        results=slots(results=many(t.TENSOR)),
        traits=(RECURSIVE, PAIRS),
    )

Each slot has a kind: of an attribute, or of the type of an operand or result (`kinds.py`).

>>> from shardy_py.mlir.dialects import kinds as k
>>> row = OpRow("iota", attributes=slots(dimension=k.INDEX), results=slots(output=k.ANY_TYPE), traits=(PURE,))
>>> make_class(row, "demo").__name__
'IotaOp'

Not here: how ops read and print (`template.py`), rules that StableHLO's specification states
(`stablehlo/verify/`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, cast

from typing_extensions import TypeVar, override
from xdsl import irdl, traits
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.declaration import declare
from shardy_py.mlir.dialects.kinds import ANY_TYPE, AttributeKind, AttributePredicate, TypeKind
from shardy_py.mlir.dialects.sdy.interfaces import (
    BranchDataFlow,
    ConditionalDataFlow,
    EachOperandDataFlow,
    LoopDataFlow,
)
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp, define_op

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor
    from shardy_py.mlir.dialects.stablehlo.verify.view import View
    from shardy_py.mlir.dialects.template import Template
    from shardy_py.mlir.dialects.verification.driver import PlacedCheck
    from shardy_py.mlir.text.syntax import AssemblyForm

K = TypeVar("K", default=Any)


class Slot(NamedTuple, Generic[K]):
    """An operand, attribute, result or region in a row; a tuple, because import makes 600 of them.

    kind: an `AttributeKind` of attributes, a `TypeKind` of operands and results, None of regions.
    many: any number of them. optional: may be absent.
    default: the attribute that absence stands for, None if there is none.
    """

    name: str
    kind: K
    many: bool = False
    optional: bool = False
    default: Attribute | None = None

    @property
    def accessor(self) -> str:
        """The Python attribute: the name in MLIR, with `_` appended where every op has that attribute."""
        return self.name + "_" if hasattr(Operation, self.name) or self.name in _EVERY_OP else self.name


_EVERY_OP = frozenset(
    {"name", "operands", "results", "regions", "attributes", "properties", "successors", "parent", "location"}
)


def slots(**kinds: K | Slot[K]) -> tuple[Slot[K], ...]:
    """The slots of those names, in order.

    >>> from shardy_py.mlir.dialects import kinds as k
    >>> [(slot.name, slot.many) for slot in slots(inputs=many(k.ANY_TYPE), token=k.ANY_TYPE)]
    [('inputs', True), ('token', False)]
    """
    return tuple(
        Slot(name, *kind[1:]) if isinstance(kind, Slot) else Slot(name, kind) for name, kind in kinds.items()
    )


def many(kind: TypeKind) -> Slot[TypeKind]:
    """Any number of operands or results."""
    return Slot("", kind, many=True)


def optional(kind: AttributeKind, default: object = None) -> Slot[AttributeKind]:
    """An attribute that may be absent, which stands for the default if there is one."""
    return Slot("", kind, optional=True, default=None if default is None else kind.encode(default))


def filled(kind: AttributeKind, default: object) -> Slot[AttributeKind]:
    """An attribute that is filled in if it is left out."""
    return Slot("", kind, default=kind.encode(default))


def regions(*names: str) -> tuple[Slot[None], ...]:
    """Regions of one block."""
    return tuple(Slot(name, None) for name in names)


def any_regions(name: str) -> tuple[Slot[None], ...]:
    """Any number of regions."""
    return (Slot(name, None, many=True),)


@dataclass(frozen=True, eq=False)
class Trait:
    """A trait that rows state: those of xDSL that the class gets, and IRDL options."""

    classes: tuple[Callable[[], traits.OpTrait], ...] = ()
    options: tuple[Callable[[], irdl.IRDLOption], ...] = ()


Rule = Callable[["View"], None]
"""A rule of a verifier; raises `Fault`."""
Infer = Callable[["View"], "Sequence[RankedTensor | Attribute]"]
"""From the operands and attributes of an op, the types of its results; raises `Fault`."""
ResultNames = Callable[[Any], "Sequence[str | None]"]
ArgumentNames = Callable[[Any, int], "Sequence[str | None]"]


@dataclass(frozen=True)
class OpRow:
    """One op.

    name: without the dialect's. form: its assembly form; None if it prints generically.
    verify: rules checked before the ops in its regions, in C++'s order.
    infer: the types of its results, compared with the given ones once the op's regions are verified.
    ends_with: the full name of the op that ends its regions; "" if any terminator does.
    verify_symbols: checks the symbols that the op refers to, at the end of the module.
    result_names: hints for the names of its results; by default, names of slots if there are several.
    argument_names: hints for the names of the block arguments of a region.
    """

    name: str
    _: KW_ONLY
    operands: tuple[Slot[TypeKind], ...] = ()
    attributes: tuple[Slot[AttributeKind], ...] = ()
    regions: tuple[Slot[None], ...] = ()
    results: tuple[Slot[TypeKind], ...] = ()
    traits: tuple[Trait, ...] = ()
    form: Template | AssemblyForm | None = None
    verify: tuple[Rule, ...] = ()
    infer: Infer | None = None
    ends_with: str = ""
    verify_symbols: PlacedCheck | None = None
    result_names: ResultNames | None = None
    argument_names: ArgumentNames | None = None

    @property
    def needs_constants(self) -> bool:
        """Returns whether rules depend on operands that are constants, not on types and attributes alone."""
        return READS_CONSTANTS in self.traits

    @property
    def class_name(self) -> str:
        """The name of the class: `DotGeneralOp`."""
        return "".join(word.capitalize() for word in re.split(r"[_-]", self.name) if word) + "Op"

    @property
    def value_names(self) -> ResultNames | None:
        """Hints for the names of results, as MLIR derives them: the slots of ops with several results."""
        if self.result_names is not None or len(self.results) < 2:
            return self.result_names
        if any(slot.many for slot in self.results):
            return None
        names = tuple(slot.name for slot in self.results)
        return lambda op: names


@dataclass(frozen=True)
class Described(irdl.AttrConstraint):
    """A constraint that fails with MLIR's description: `64-bit signless integer attribute`.

    storage: accepts the attributes that the op can hold in C++; None: any. The reader rejects the others.
    """

    description: str
    accepts: AttributePredicate
    storage: AttributePredicate | None = None

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

PURE = Trait((traits.Pure,))
NO_EFFECT = Trait((traits.NoMemoryEffect,))
RECURSIVE = Trait((traits.RecursiveMemoryEffect,))
FLAGGED = Trait((FlaggedEffects,))
READS_AND_WRITES = Trait((traits.MemoryReadEffect, traits.MemoryWriteEffect))
COMMUTATIVE = Trait((traits.Commutative,))
HLO_COMMUTATIVE = Trait((HloCommutative,))
ASYNC = Trait((Asynchronous,))
TERMINATOR = Trait((traits.IsTerminator,))
ISOLATED = Trait((traits.IsolatedFromAbove,))
CONSTANT = Trait((traits.ConstantLike, _FoldsToValue))
LOOP_FLOW = Trait((LoopDataFlow,))
BRANCH_FLOW = Trait((BranchDataFlow,))
CONDITIONAL_FLOW = Trait((ConditionalDataFlow,))
OPERAND_FLOW = Trait((EachOperandDataFlow,))
READS_CONSTANTS = Trait()
"""The verifier depends on operands that are constants, not on types and attributes alone."""
PAIRS = Trait(options=(irdl.SameVariadicOperandSize,))
"""Operands are divided equally among several slots of many."""
SEGMENTS = Trait(
    options=(
        lambda: irdl.AttrSizedOperandSegments(as_property=True),
        lambda: irdl.AttrSizedResultSegments(as_property=True),
    )
)
"""Operands and results are divided among slots of many by properties."""


def make_class(row: OpRow, dialect: str) -> type[irdl.IRDLOperation]:
    """The IRDL class of a row."""
    from shardy_py.mlir.dialects.construction import constructor

    fields: dict[str, object] = {"name": f"{dialect}.{row.name}", "__init__": constructor(row, dialect)}
    for slot in row.operands:
        fields[slot.accessor] = (irdl.var_operand_def if slot.many else irdl.operand_def)(_type(slot.kind))
    for slot in row.attributes:
        fields[slot.accessor] = _property(slot)
    for slot in row.results:
        fields[slot.accessor] = (irdl.var_result_def if slot.many else irdl.result_def)(_type(slot.kind))
    for slot in row.regions:
        fields[slot.accessor] = irdl.var_region_def() if slot.many else irdl.region_def("single_block")
    traits = [make() for trait in row.traits for make in trait.classes]
    if traits:
        fields["traits"] = irdl.traits_def(*traits)
    options = [make() for trait in row.traits for make in trait.options]
    if options:
        fields["irdl_options"] = tuple(options)
        if SEGMENTS in row.traits:
            fields["operand_segment_sizes"] = irdl.prop_def(prop_name="operandSegmentSizes")
            fields["result_segment_sizes"] = irdl.prop_def(prop_name="resultSegmentSizes")
    base = DialectOp if row.form is None else PrettyOp
    made = define_op(cast("type[irdl.IRDLOperation]", type(row.class_name, (base,), fields)))
    declare(made, row, dialect)
    return made


def _type(kind: TypeKind) -> irdl.AttrConstraint:
    return irdl.AnyAttr() if kind is ANY_TYPE else Described(kind.description, kind.accepts)


def _property(slot: Slot[AttributeKind]) -> object:
    kind = slot.kind
    constraint = Described(kind.description, kind.accepts, kind.storage)
    prop_name = slot.name if slot.accessor != slot.name else None
    if slot.optional:
        return irdl.opt_prop_def(constraint, prop_name=prop_name)
    return irdl.prop_def(constraint, slot.default, prop_name=prop_name)
