"""A question for proposals: collectives that are alike, with the axes, annotations and expressions around.

Not here: the answers (`kinds/`), what is known of the program whatever the question (`program.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.communication import CollectiveUse
from shardy_py.search.advice.program import AdvisedProgram, shape_of
from shardy_py.search.advice.sites import ExpressionSite


@dataclass(frozen=True)
class Question:
    """The question what to change so that less is sent by a collective, and by those alike."""

    program: AdvisedProgram
    use: CollectiveUse

    @property
    def op(self) -> Operation | None:
        """The op that the collective is made for."""
        return self.use.cause.made_for

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The axes to change: those of the collective; if it has none, all."""
        mesh = self.program.mesh
        own = tuple(name for name, _ in self.use.axes if name in mesh.sizes)
        return own or tuple(axis.name for axis in mesh.axes if axis.size > 1)

    @cached_property
    def annotated(self) -> tuple[ValueEntry, ...]:
        """The annotated values that axes of the op come from, and arguments that it reads."""
        program, op = self.program, self.op
        sides = (program.annotated_at(side) for side in program.sides(self.use))
        read = (program.source_of(value) for value in (() if op is None else operands_of(op)))
        arguments = (e for e in read if e is not None and e.role == "argument" and e in program.boundary)
        return tuple(dict.fromkeys((*(e for e in sides if e is not None), *arguments)))

    @cached_property
    def sites(self) -> tuple[ExpressionSite, ...]:
        """The expression of the op, then those that it reads."""
        place, sites = self.use.cause.position, self.program.sites
        own = sites.at(place)
        first = (own,) if own is not None else tuple(self._unplaced()) if place is None else ()
        inside = (entry for entry in sites.operands(place) if entry.role == "intermediate")
        read = (sites.of(entry) for entry in inside)
        return (*first, *(site for site in read if site is not None and site is not own))

    def _unplaced(self) -> Iterator[ExpressionSite]:
        """The values of an op without a position, each a site of its own."""
        op = self.op
        for value in () if op is None else (*op.results, *operands_of(op)):
            entry = self.program.source_of(value)
            if entry is not None and entry.role == "intermediate" and shape_of(entry):
                yield self.program.sites.alone(entry)
