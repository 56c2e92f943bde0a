"""The walk over the ops of one isolated op: every op once, most of them at the cost of one look-up.

Class, types, properties and attributes of an op are checked once a signature, which is made of numbers that
equal attributes share. Not here: what is checked, and what a fault leads to (`driver.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.verification.dominance import dominance_fault, first_violation
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.ir import next_op, operands_of, type_of
from shardy_py.mlir.text import print_module, syntax_table

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.verification.driver import Verifier

SOUND: dict[tuple[Any, ...], None] = SESSION.table("verified signatures")
"""The signatures known to be sound, made of numbers (`numbering.py`)."""


def body_signature(region: Region, number: Callable[[Attribute], int] = id) -> tuple[Any, ...]:
    """The part of a region that verifiers of its op depend on: argument and result types, number of blocks.

    number: represents a type; its identity by default.
    """
    block = region.first_block
    if block is None:
        return ()
    last = block.last_op
    returned = operands_of(last) if last is not None else ()
    return (
        block.next_block is None,
        *[number(argument.type) for argument in block.args],
        last.__class__,
        *[number(value.type) for value in returned],
    )


@dataclass(frozen=True, slots=True)
class OpKind:
    """Properties of a class of ops that the walk depends on.

    needs_terminator: whether the blocks in its regions must end with one; where not, their order is free.
    has_structure, has_uses: whether there is a verifier that must look at every such op.
    is_plain: whether nothing but its signature and regions matters.
    is_bare: whether nothing but its signature matters of a repeated op, whose regions its line describes.
    """

    is_terminator: bool
    is_isolated: bool
    needs_terminator: bool
    has_structure: bool
    has_uses: bool
    is_plain: bool
    is_bare: bool


class Walk:
    """The walk over one isolated op.

    defined: the identities of the values in scope.
    isolated: the isolated ops found, to be verified after the walk.
    late: the first violation of dominance, reported if there are no other faults.
    """

    def __init__(self, verifier: Verifier, root: Operation) -> None:
        self.verifier = verifier
        self.root = root
        self.defined: set[int] = set()
        self.isolated: list[tuple[Operation, Scope]] = []
        self.late: Fault | None = None

    def region(self, region: Region, scope: Scope, parent: OpKind, *, is_outermost: bool = False) -> None:
        """Verifies the ops of a region of an op of kind `parent`."""
        block = region.first_block
        mine: list[int] = []
        has_blocks = block is not None and block.next_block is not None
        is_ordered = parent.needs_terminator and not has_blocks
        if not is_ordered:
            self._define_all(region, mine)
        if has_blocks and self.late is None and (found := first_violation(region, parent.needs_terminator)):
            self.late = dominance_fault(*found, self.root)
        while block is not None:
            mine += map(id, block.args)
            self.defined.update(map(id, block.args))
            self._ops(block, scope, mine, is_ordered=is_ordered)
            if parent.needs_terminator:
                self._check_terminator(block)
            block = block.next_block
        if not is_outermost:
            self.defined.difference_update(mine)

    def _define_all(self, region: Region, mine: list[int]) -> None:
        """Defines all values of a region at once: the order of blocks, and in graphs of ops, is free."""
        for block in region.blocks:
            mine += map(id, block.args)
            for op in block.ops:
                mine += map(id, op.results)
        self.defined.update(mine)

    def _check_terminator(self, block: Block) -> None:
        last = block.last_op
        if last is None:
            if (holder := block.parent_op()) is not None:
                raise Fault("empty block: expect at least a terminator", is_plain=True, op=holder)
        elif not (isinstance(last, UnregisteredOp) or self.verifier.kind_of(last).is_terminator):
            text = _operation_text(last)
            raise Fault(f"block with no terminator, has {text}", is_plain=True, op=last)

    def _ops(self, block: Block, scope: Scope, mine: list[int], *, is_ordered: bool) -> None:
        known: dict[Any, Any] = scope.known
        defined = self.defined
        define, remember = defined.add, mine.append
        repeats = iter(self.verifier.repeats.get(id(block), ()))
        repeat, kinds = next(repeats, None), self.verifier.kinds
        op: Any = block.first_op
        try:
            while op is not None:
                if op is repeat:
                    repeat = next(repeats, None)
                    if kinds[op.__class__].is_bare:
                        for value in operands_of(op):
                            if id(value) not in defined:
                                self._undefined(op)
                        for value in op.results:
                            number = id(value)
                            define(number)
                            remember(number)
                        op = next_op(op)
                        continue
                key = [op.__class__]
                append = key.append
                for value in operands_of(op):
                    append(id(type_of(value)))
                    if id(value) not in defined:
                        self._undefined(op)
                append(None)
                for value in op.results:
                    append(id(type_of(value)))
                    number = id(value)
                    define(number)
                    remember(number)
                if held := op.properties:
                    for name, attribute in held.items():
                        append(name)
                        append(id(attribute))
                if held := op.attributes:
                    append(None)
                    for name, attribute in held.items():
                        append(name)
                        append(id(attribute))
                if regions := op.regions:
                    key += map(body_signature, regions)
                signature = tuple(key)
                kind: OpKind | None = known.get(signature)
                fresh = None
                if kind is None:
                    kind = self.verifier.kind_of(op)
                    if not (kind.is_isolated and regions):
                        self.verifier.signature(op, scope)
                        fresh = self.verifier.fresh
                        known[signature] = kind
                following = next_op(op)
                if regions or not kind.is_plain or (kind.is_terminator and following is not None):
                    own = set(map(id, op.results)) if regions and is_ordered else ()
                    defined.difference_update(own)  # not visible in the op's own regions
                    self._special(op, kind, scope, fresh=fresh)
                    defined.update(own)
                op = following
        except Fault as fault:
            fault.op = fault.op or op
            raise

    def _undefined(self, op: Operation) -> None:
        """Records the first operand that is not defined where `op` uses it, of the first such op."""
        for value in op.operands if self.late is None else ():
            if id(value) not in self.defined:
                self.late = dominance_fault(op, value, self.root)
                return

    def _special(
        self, op: Operation, kind: OpKind, scope: Scope, *, fresh: tuple[object, ...] | None
    ) -> None:
        """Verifies an op with regions, or with a verifier that is not memoized."""
        if kind.is_isolated and op.regions:
            self.isolated.append((op, scope))
            return
        self.verifier.placed(op, kind, scope)
        if op.regions:
            inner = scope.inside(op)
            for region in op.regions:
                self.region(region, inner, kind)
            if fresh is not None:
                self.verifier.results(op, fresh)


def _operation_text(op: Operation) -> str:
    """`%0 = "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> ...`, with names as in the function around."""
    root = op
    while (parent := root.parent_op()) is not None and parent.name != "builtin.module":
        root = parent
    lines = print_module(root, syntax=syntax_table(), generic=True).split("\n")
    return next((line.strip() for line in reversed(lines) if f'"{op.name}"' in line), op.name)
