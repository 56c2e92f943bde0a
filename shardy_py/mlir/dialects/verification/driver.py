"""Verifies a module in MLIR's order, and reports the faults that MLIR reports.

An isolated op (module, function, manual computation) is verified with its regions, then the isolated ops in
it, then users of symbols, at the end of the module. A fault ends the verification of the isolated op that
contains it, as further faults are often consequences.

Not here: the walk over the ops of an isolated op (`walk.py`); the verifiers (`rules.py` lists them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator

from shardy_py.base.errors import Diagnostic
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.faults import Check, Fault, diagnostics
from shardy_py.mlir.dialects.verification.declared import check_declared
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.dialects.verification.walk import SOUND, OpKind, Walk, body_signature
from shardy_py.mlir.ir import operands_of, written_name
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.text.recipes import Repeats

PlacedCheck = Callable[[Any, Scope], None]
"""A verifier of an op in its place."""
AttributeCheck = Callable[[Operation, str, Attribute, Scope], None]
"""A verifier of a discardable attribute on an op."""


@dataclass(frozen=True)
class Rules:
    """All verifiers, by name of op; `attributes` by name of dialect.

    checks: of class, types, properties and attributes; memoized by signature.
    results: of result types, once the op's regions are verified.
    structure: of regions and parents; run during the walk.
    uses: of symbols and defining ops; run at the end of the module, once its ops are verified.
    """

    checks: Mapping[str, Check]
    results: Mapping[str, Check]
    structure: Mapping[str, PlacedCheck]
    uses: Mapping[str, PlacedCheck]
    attributes: Mapping[str, AttributeCheck]
    module: PlacedCheck


class Verifier:
    """One run over one module.

    repeats: ops that need no look at their signatures.
    kinds: the kinds of the classes seen so far.
    fresh: the signature checked by the last call of `signature`, None if it was known to be sound.
    """

    def __init__(self, rules: Rules, repeats: Repeats) -> None:
        self.rules = rules
        self.repeats = repeats
        self.found: list[Diagnostic] = []
        self.users: list[tuple[Operation, Scope]] = []
        self.kinds: dict[object, OpKind] = {}
        self.fresh: tuple[object, ...] | None = None

    def verify(self, module: ModuleOp) -> tuple[Diagnostic, ...]:
        """Returns all faults to report."""
        self._isolated(module, Scope(module))
        return tuple(self.found)

    def check_op(self, op: Operation) -> None:
        """Checks one op whose regions are sound; without a module around it, its signature only."""
        scope = Scope.of(op)
        if scope is None:
            self._own_signature(op)
        else:
            self.signature(op, scope)
        if op.regions and self.fresh is not None:
            self.results(op, self.fresh)
        for checks in (self.rules.structure, self.rules.uses):
            if scope is not None and (check := checks.get(op.name)) is not None:
                check(op, scope)

    def _isolated(self, op: Operation, scope: Scope) -> None:
        """Verifies an isolated op with its regions, and the isolated ops in it."""
        before = len(self.found)
        outer_users = self.users
        walk = Walk(self, op)
        try:
            kind = self.kind_of(op)
            self.signature(op, scope)
            self.placed(op, kind, scope)
            inner = scope.inside(op)
            if isinstance(op, ModuleOp):
                self.users = []
            for region in op.regions:
                walk.region(region, inner, kind, is_outermost=True)
            for child, place in walk.isolated:
                self._isolated(child, place)
            if len(self.found) > before:
                return
            self.results(op)
            if isinstance(op, ModuleOp):
                self.rules.module(op, inner)
                self._check_uses(op)
                self.users = outer_users
            if walk.late is not None:
                raise walk.late
        except Fault as fault:
            self.found += diagnostics(fault, op)

    def kind_of(self, op: Operation) -> OpKind:
        """Properties of the class of `op` that the walk depends on."""
        op_class = type(op)
        kind = self.kinds.get(op_class)
        if kind is None:
            name = written_name(op)
            has_structure, has_uses = name in self.rules.structure, name in self.rules.uses
            is_terminator = op_class.has_trait(IsTerminator, value_if_unregistered=False)
            is_plain = not (has_structure or has_uses)
            kind = self.kinds[op_class] = OpKind(
                is_terminator=is_terminator,
                is_isolated=op_class.has_trait(IsolatedFromAbove, value_if_unregistered=False),
                needs_terminator=not op_class.has_trait(NoTerminator, value_if_unregistered=True),
                has_structure=has_structure,
                has_uses=has_uses,
                is_plain=is_plain,
                is_bare=is_plain and not is_terminator,
            )
        return kind

    def signature(self, op: Operation, scope: Scope) -> None:
        """Checks the signature of `op` in its scope; sets `fresh`."""
        for name, attribute in op.attributes.items():
            check = self.rules.attributes.get(name.partition(".")[0])
            if check is not None:
                check(op, name, attribute, scope)
        self._own_signature(op)

    def results(self, op: Operation, signature: tuple[object, ...] | None = None) -> None:
        """Checks the results of an op whose regions are sound; `signature` is then sound as well."""
        if (check := self.rules.results.get(op.name)) is not None:
            check(op)
        if signature is not None:
            SOUND[signature] = None
            SESSION.charge(len(signature))

    def placed(self, op: Operation, kind: OpKind, scope: Scope) -> None:
        """Checks the place of `op` and its regions."""
        if kind.has_uses:
            self.users.append((op, scope))
        if kind.is_terminator and op.next_op is not None:
            raise Fault("must be the last operation in the parent block")
        if kind.has_structure:
            self.rules.structure[op.name](op, scope)

    def _own_signature(self, op: Operation) -> None:
        """Checks the signature of `op`, discardable attributes aside; sets `fresh`."""
        self.fresh = None
        if isinstance(op, UnregisteredOp):
            return
        held: list[Attribute | None] = [value.type for value in operands_of(op)]
        held += (None, *(result.type for result in op.results), *op.properties.values())
        key = (
            type(op),
            *map(number_of, held),
            *op.properties,
            *(body_signature(region, number_of) for region in op.regions),
        )
        if key in SOUND:
            return
        self.fresh = key
        check_declared(op)
        if (check := self.rules.checks.get(op.name)) is not None:
            check(op)
        if not op.regions:
            self.results(op, key)

    def _check_uses(self, module: ModuleOp) -> None:
        """Checks the module's users of symbols; of several faults the first in MLIR's order counts."""
        faults: dict[int, Fault] = {}
        for op, scope in self.users:
            rule = self.rules.uses.get(op.name)
            if rule is None:
                continue  # one of that name in a dialect that is not registered here
            try:
                rule(op, scope)
            except Fault as fault:
                fault.op = fault.op or op
                faults[id(op)] = fault
        for op in _region_by_region(module) if faults else ():
            if id(op) in faults:
                raise faults[id(op)]


def _region_by_region(module: ModuleOp) -> Iterator[Operation]:
    """The ops of a region, then those of the regions in it, the last one first."""
    regions = [module.body]
    while regions:
        for block in regions.pop().blocks:
            for op in block.ops:
                yield op
                if not isinstance(op, ModuleOp):
                    regions.extend(op.regions)
