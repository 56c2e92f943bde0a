"""The walk over the ops of one isolated op: every op once, most of them at the cost of one look-up.

Class, types, properties and attributes of an op are checked once a signature: the identities of all of
them. Not here: what is checked, and what a fault leads to (`driver.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Block, Operation, Region

from shardy_py.dialects.verification.dominance import operand_faults
from shardy_py.dialects.verification.faults import Fault
from shardy_py.dialects.verification.memory import body_signature
from shardy_py.dialects.verification.op_text import operation_text
from shardy_py.dialects.verification.scope import Scope

if TYPE_CHECKING:
    from shardy_py.dialects.verification.driver import Verifier


@dataclass(frozen=True, slots=True)
class Kind:
    """Properties of a class of ops that the walk depends on.

    needs_terminator: whether the blocks in its regions must end with one; where not, their order is free.
    has_structure, has_uses: whether there is a verifier that must look at every such op.
    is_plain: whether nothing but its signature and regions matters.
    """

    is_terminator: bool
    is_isolated: bool
    needs_terminator: bool
    has_structure: bool
    has_uses: bool
    is_plain: bool


class Walk:
    """The walk over one isolated op.

    defined: the identities of the values in scope.
    isolated: the isolated ops found, to be verified after the walk.
    late: violations of dominance, reported if there are no other faults.
    """

    def __init__(self, verifier: Verifier, root: Operation) -> None:
        self.verifier = verifier
        self.root = root
        self.defined: set[int] = set()
        self.isolated: list[tuple[Operation, Scope]] = []
        self.late: list[Fault] = []

    def region(self, region: Region, scope: Scope, parent: Kind, *, is_outermost: bool = False) -> bool:
        """Verifies the ops of a region of an op of kind `parent`; False ends the walk."""
        block = region.first_block
        if block is None:
            return True
        mine: list[int] = []
        if block.next_block is not None or not parent.needs_terminator:
            self._define_all(region, mine)
        while block is not None:
            mine += map(id, block.args)
            self.defined.update(map(id, block.args))
            if not self._ops(block, scope, mine):
                return False
            if parent.needs_terminator and not self._terminator(block):
                return False
            block = block.next_block
        if not is_outermost:
            self.defined.difference_update(mine)
        return True

    def _define_all(self, region: Region, mine: list[int]) -> None:
        """Defines all values of a region at once: the order of blocks, and in graphs of ops, is free."""
        for block in region.blocks:
            mine += map(id, block.args)
            for op in block.ops:
                mine += map(id, op.results)
        self.defined.update(mine)

    def _terminator(self, block: Block) -> bool:
        last = block.last_op
        holder = block.parent_op()
        if last is None:
            if holder is None:
                return True
            fault = Fault("empty block: expect at least a terminator", is_plain=True)
            return self.verifier.report((fault,), holder)
        if isinstance(last, UnregisteredOp) or self.verifier.kind_of(last).is_terminator:
            return True
        text = operation_text(last)
        return self.verifier.report((Fault(f"block with no terminator, has {text}", is_plain=True),), last)

    def _ops(self, block: Block, scope: Scope, mine: list[int]) -> bool:
        known: dict[Any, Any] = scope.known
        defined = self.defined
        define, remember = defined.add, mine.append
        op: Any = block.first_op
        while op is not None:
            fields = op.__dict__
            key = [op.__class__]
            append = key.append
            for value in fields["_operands"]:
                append(id(value.type))
                if id(value) not in defined:
                    self._undefined(op)
            append(None)
            for value in fields["results"]:
                append(id(value.type))
                number = id(value)
                define(number)
                remember(number)
            if held := fields["properties"]:
                for name, attribute in held.items():
                    append(name)
                    append(id(attribute))
            if held := fields["attributes"]:
                append(None)
                for name, attribute in held.items():
                    append(name)
                    append(id(attribute))
            if regions := fields["regions"]:
                key += map(body_signature, regions)
            signature = tuple(key)
            kind: Kind | None = known.get(signature)
            fresh = None
            if kind is None:
                kind = self.verifier.kind_of(op)
                if not (kind.is_isolated and regions):
                    if not self.verifier.signature(op, scope):
                        return False
                    fresh = self.verifier.fresh
                    known[signature] = kind
            following = op.next_op
            if (regions or not kind.is_plain or (kind.is_terminator and following is not None)) and (
                not self._special(op, kind, scope, fresh=fresh)
            ):
                return False
            op = following
        return True

    def _undefined(self, op: Operation) -> None:
        """Records the operands that are not defined where `op` uses them, once."""
        if any(fault.op is op for fault in self.late):
            return
        for value in dict.fromkeys(op.operands):
            if id(value) not in self.defined:
                self.late += operand_faults(op, value, self.root)

    def _special(self, op: Operation, kind: Kind, scope: Scope, *, fresh: tuple[Any, ...] | None) -> bool:
        """Verifies an op with regions, or with a verifier that is not memoized."""
        if kind.is_isolated and op.regions:
            self.isolated.append((op, scope))
            return True
        if not self.verifier.placed(op, kind, scope):
            return False
        inner = scope.inside(op) if op.regions else scope
        if not all(self.region(region, inner, kind) for region in op.regions):
            return False
        return fresh is None or not op.regions or self.verifier.results(op, fresh)
