"""Verifies a module in MLIR's order, and reports the faults that MLIR reports.

An isolated op (module, function, manual computation) is verified with its regions, then the isolated ops in
it, then users of symbols, at the end of the module. A fault ends the verification of the isolated op that
contains it, as further faults are often consequences. `every=True` continues instead.

Not here: the walk over the ops of an isolated op (`walk.py`); the verifiers (`rules.py` lists them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator

from shardy_py.dialects.verification.declared import check_declared
from shardy_py.dialects.verification.faults import Check, Fault, Faults, diagnostic, name_of
from shardy_py.dialects.verification.memory import body_signature, canonical, sound_signatures
from shardy_py.dialects.verification.scope import Scope
from shardy_py.dialects.verification.walk import Kind, Walk
from shardy_py.errors import Diagnostic
from shardy_py.ir import operands_of

PlacedCheck = Callable[[Any, Scope], Faults]
"""A verifier of an op in its place."""
AttributeCheck = Callable[[Operation, str, Attribute, Scope], Faults]
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

    fresh: the signature checked by the last call of `signature`, None if it was known to be sound.
    """

    def __init__(self, rules: Rules, *, every: bool = False) -> None:
        self.rules = rules
        self.every = every
        self.found: list[Diagnostic] = []
        self.users: list[tuple[Operation, Scope]] = []
        self._kinds: dict[Any, Kind] = {}
        self._sound = sound_signatures()
        self.fresh: tuple[Any, ...] | None = None

    def verify(self, module: ModuleOp) -> tuple[Diagnostic, ...]:
        """Returns all faults to report."""
        self.isolated(module, Scope(module))
        return tuple(self.found)

    def op_faults(self, op: Operation) -> Faults:
        """The faults of one op whose regions are sound; without a module around it, of its signature only."""
        scope = Scope.of(op)
        if scope is not None:
            yield from self._attribute_faults(op, scope)
        yield from self._op_faults(op)
        if op.regions and self.fresh is not None:
            yield from self._result_faults(op)
            self._sound[self.fresh] = None
        for checks in (self.rules.structure, self.rules.uses):
            if scope is not None and (check := checks.get(op.name)) is not None:
                yield from check(op, scope)

    def isolated(self, op: Operation, scope: Scope) -> bool:
        """Verifies an isolated op with its regions; False if there is a fault."""
        before = len(self.found)
        kind = self.kind_of(op)
        if not (self.signature(op, scope) and self.placed(op, kind, scope)):
            return False
        walk = Walk(self, op)
        inner = scope.inside(op)
        users = self.users
        if isinstance(op, ModuleOp):
            self.users = []
        for region in op.regions:
            if not walk.region(region, inner, kind, is_outermost=True):
                return False
        for child, place in walk.isolated:
            self.isolated(child, place)
        if self.every or len(self.found) == before:
            self.results(op)
        if (self.every or len(self.found) == before) and isinstance(op, ModuleOp):
            self.report(self.rules.module(op, inner), op)
            if self.every or len(self.found) == before:
                self.report(self._use_faults(op), op)
        if isinstance(op, ModuleOp):
            self.users = users
        if self.every or len(self.found) == before:
            self.report(walk.late, op)
        return self.every or len(self.found) == before

    def report(self, faults: Iterable[Fault], op: Operation) -> bool:
        """Records the first fault of `op` (or every one); False if that ends the isolated op."""
        for fault in faults:
            self.found.append(diagnostic(fault, op))
            if not (self.every or fault.is_followed):
                return False
        return True

    def kind_of(self, op: Operation) -> Kind:
        """Properties of the class of `op` that the walk depends on."""
        op_class: Any = type(op)
        found = self._kinds.get(op_class)
        if found is None:
            name = name_of(op)
            is_terminator = op_class.has_trait(IsTerminator, value_if_unregistered=False)
            has_structure, has_uses = name in self.rules.structure, name in self.rules.uses
            found = self._kinds[op_class] = Kind(
                is_terminator=is_terminator,
                is_isolated=op_class.has_trait(IsolatedFromAbove, value_if_unregistered=False),
                needs_terminator=not op_class.has_trait(NoTerminator, value_if_unregistered=True),
                has_structure=has_structure,
                has_uses=has_uses,
                is_plain=not (has_structure or has_uses),
            )
        return found

    def signature(self, op: Operation, scope: Scope) -> bool:
        """Checks the signature of `op` in its scope; sets `fresh`."""
        self.fresh = None
        return self.report(self._attribute_faults(op, scope), op) and self.report(self._op_faults(op), op)

    def results(self, op: Operation, signature: tuple[Any, ...] | None = None) -> bool:
        """Checks the results of an op whose regions are sound; `signature` is then sound as well."""
        before = len(self.found)
        is_sound = self.report(self._result_faults(op), op)
        if signature is not None and len(self.found) == before:
            self._sound[signature] = None
        return is_sound

    def placed(self, op: Operation, kind: Kind, scope: Scope) -> bool:
        """Checks the place of `op` and its regions."""
        if kind.has_uses:
            self.users.append((op, scope))
        if kind.is_terminator and op.next_op is not None:
            return self.report((Fault("must be the last operation in the parent block"),), op)
        return not kind.has_structure or self.report(self.rules.structure[op.name](op, scope), op)

    def _attribute_faults(self, op: Operation, scope: Scope) -> Faults:
        for name, attribute in op.attributes.items():
            check = self.rules.attributes.get(name.partition(".")[0])
            if check is not None:
                yield from check(op, name, attribute, scope)

    def _op_faults(self, op: Operation) -> Faults:
        if isinstance(op, UnregisteredOp):
            return
        held: list[Any] = [value.type for value in operands_of(op)]
        held += (None, *(result.type for result in op.results), *op.properties.values())
        key = (
            type(op),
            *map(canonical, held),
            *op.properties,
            *(body_signature(region, canonical) for region in op.regions),
        )
        self.fresh = None
        if key in self._sound:
            return
        self.fresh = key
        is_sound = True
        for fault in self._signature_faults(op):
            is_sound = False
            yield fault
        if is_sound and not op.regions:
            self._sound[key] = None

    def _signature_faults(self, op: Operation) -> Faults:
        is_declared = True
        for fault in check_declared(op):
            is_declared = False
            yield fault
        check = self.rules.checks.get(op.name)
        if is_declared and check is not None:
            is_sound = True
            for fault in check(op):
                is_sound = False
                yield fault
            if is_sound and not op.regions:
                yield from self._result_faults(op)

    def _result_faults(self, op: Operation) -> Faults:
        check = self.rules.results.get(op.name)
        return check(op) if check is not None else iter(())

    def _use_faults(self, module: ModuleOp) -> Faults:
        """The faults of the module's users of symbols, in MLIR's order."""
        found = {
            id(op): faults for op, scope in self.users if (faults := [*self.rules.uses[op.name](op, scope)])
        }
        if found:
            for op in _region_by_region(module):
                for fault in found.get(id(op), ()):
                    yield fault if fault.op else _blaming(fault, op)


def _blaming(fault: Fault, op: Operation) -> Fault:
    return Fault(fault.message, fault.is_plain, fault.notes, op, fault.is_followed)


def _region_by_region(module: ModuleOp) -> Iterator[Operation]:
    """The ops of a region, then those of the regions in it, the last one first."""
    regions = [module.body]
    while regions:
        for block in regions.pop().blocks:
            for op in block.ops:
                yield op
                if not isinstance(op, ModuleOp):
                    regions.extend(op.regions)
