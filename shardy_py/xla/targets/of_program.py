"""Programs as the compiler of a device makes them, each function once for all reports on it.

Not here: the passes (`compiled.py`), reports (`report/`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from typing_extensions import override
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.base import releases
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.xla.spmd.einsum_loops import EinsumLoops
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.inlined import spmd_program
from shardy_py.xla.spmd.walk import Block, ProgramPlan, plan_program

if TYPE_CHECKING:
    from shardy_py.xla.targets.combining import Issued
    from shardy_py.xla.targets.compiled import CompiledPlan, Compiler
    from shardy_py.xla.targets.model import DeviceBody


class RepropagatedProgram(SpmdProgram):
    """A program that was propagated again, as a compiler simplifies it before that.

    base: the one that reports are on. Functions and ops of the latter stand for those at the same locations.
    """

    def __init__(self, base: SpmdProgram, made: SpmdProgram) -> None:
        super().__init__(made.module, _Originals(base, made), made.is_planned, made.table, base.release)
        self.base = base
        self._own = dict(zip(base.entries, self.entries, strict=True))

    @override
    def own(self, function: FuncOp) -> FuncOp:
        return self._own.get(function, function)

    @override
    def names(self, op: Operation) -> tuple[str, str]:
        original = self.originals.get(op)
        return ("", "") if original is None else self.base.names(original)


class _Originals(Mapping[Operation, Operation]):
    """By op that of the program that reports are on, at its location, if possible of its name."""

    def __init__(self, base: SpmdProgram, made: SpmdProgram) -> None:
        self._base, self._made = base, made

    @cached_property
    def _found(self) -> dict[Operation, Operation]:
        places: dict[tuple[int, str], Operation] = {}
        for op in walk_pre_order(self._base.module):
            for name in (op.name, ""):
                places.setdefault((id(op.location), name), op)
        pairs = (
            (op, places.get((id(op.location), op.name)) or places.get((id(op.location), "")))
            for op in walk_pre_order(self._made.module)
        )
        return {op: self._base.originals.get(old, old) for op, old in pairs if old is not None}

    @override
    def __getitem__(self, op: Operation) -> Operation:
        return self._found[op]

    @override
    def __iter__(self) -> Iterator[Operation]:
        return iter(self._found)

    @override
    def __len__(self) -> int:
        return len(self._found)


class SimplifiedProgram(SpmdProgram):
    """A program as a compiler simplifies it before the partitioner, with the plan of that.

    loops: when its partitioner makes loops of products.
    """

    def __init__(
        self, base: SpmdProgram, simplify: Callable[[Block], Block], loops: EinsumLoops | None = None
    ) -> None:
        super().__init__(base.module, base.originals, base.is_planned, base.table, base.release)
        self.base, self.simplify, self.loops = base, simplify, loops
        self.meshes, self.values, self.entries = base.meshes, base.values, base.entries
        self.result_sharding = base.result_sharding
        self._made: dict[FuncOp, tuple[Block, ProgramPlan]] = {}

    @override
    def own(self, function: FuncOp) -> FuncOp:
        return self.base.own(function)

    @override
    def names(self, op: Operation) -> tuple[str, str]:
        return self.base.names(op)

    @override
    def planned(self, function: FuncOp) -> tuple[Block, ProgramPlan]:
        """The block of a function as simplified, and what is sent for it."""
        function = self.own(function)
        if function not in self._made:
            block = self.base.block(function)
            simple = self.simplify(block)
            is_same = simple is block and self.loops is None
            plans = self.base.step_plans(function)
            plan = self.base.planned(function)[1] if is_same else plan_program(simple, plans, self.loops)
            self._made[function] = simple, plan
        return self._made[function]

    @override
    def block(self, function: FuncOp) -> Block:
        """The block of a function as simplified."""
        return self.planned(function)[0]


def _send_alike(one: SpmdProgram, other: SpmdProgram) -> bool:
    """True if the partitioner sends as many bytes between as many devices, as often, for two programs."""
    return _sent_for(one) == _sent_for(other)


def _sent_for(program: SpmdProgram) -> Counter[tuple[str, int, int, int]]:
    plans = (program.planned(function)[1] for function in program.entries)
    sent = (each.collective for plan in plans for each in plan.sent)
    return Counter((each.kind, each.group_size, each.held_bytes, each.times) for each in sent)


@dataclass
class CompiledProgram:
    """A planned program with what a compiler makes of it. The module must not change while it is in use.

    program: as the compiler simplifies it before the partitioner. is_rewritten: whether it was simplified
    before it was propagated, too.
    """

    program: SpmdProgram
    compiler: Compiler
    is_rewritten: bool = field(default=False, init=False)
    _bodies: dict[FuncOp, DeviceBody] = field(default_factory=dict[FuncOp, "DeviceBody"], init=False)
    _known: dict[FuncOp, CompiledPlan] = field(default_factory=dict[FuncOp, "CompiledPlan"], init=False)

    def __post_init__(self) -> None:
        again, rewrite = self.program.again, self.compiler.rewrite
        if self.program.is_planned and again is not None and rewrite is not None:
            with releases.of(self.program.release), without_collection():
                made = spmd_program(again(rewrite))
                self.is_rewritten = self.compiler.rewrites_alike or not _send_alike(self.program, made)
            if self.is_rewritten:
                self.program = RepropagatedProgram(self.program, made)
        if self.program.is_planned and self.compiler.simplify is not None:
            self.program = SimplifiedProgram(self.program, self.compiler.simplify, self.compiler.loops)

    @staticmethod
    def of(program: SpmdProgram, compiler: Compiler) -> CompiledProgram:
        """Returns a program with what a compiler makes of it: the same one for all reports."""
        known = program.kept.get(compiler)
        if not isinstance(known, CompiledProgram):
            known = program.kept[compiler] = CompiledProgram(program, compiler)
        return known

    def body(self, function: FuncOp) -> DeviceBody:
        """Returns the computation of a function after the passes, before its collectives are combined.

        Raises:
            ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
        """
        from shardy_py.xla.targets.compiled import compiled_body

        function = self.program.own(function)
        if function not in self._bodies:
            with without_collection():  # all of it is kept
                self._bodies[function] = compiled_body(*self.program.planned(function), self.compiler)
        return self._bodies[function]

    def plan(self, function: FuncOp) -> CompiledPlan:
        """Returns the collectives of a function, as compiled. Raises as `body`."""
        from shardy_py.xla.targets.compiled import plan_of

        function = self.program.own(function)
        if function not in self._known:
            body = self.body(function)
            with without_collection():
                self._known[function] = plan_of(body, self.compiler)
        return self._known[function]

    def issued(self, function: FuncOp) -> Mapping[int, Issued]:
        """Returns the op that does the work of each planned collective, by the identity of the latter."""
        found: dict[int, Issued] = {}
        for each in self.plan(function).issued:
            for part in each.parts:
                for member in part.members:
                    found.setdefault(id(member.collective), each)
        return found
