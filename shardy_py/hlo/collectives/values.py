"""The values that collectives send: what makes each, what reads it, and its shape before it was flattened.

Compilers drop the metadata of what they put together, so that the ops around a value say where it is from.
Not here: which instructions are collectives (`reading.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.hlo.collectives.attributes import integer_rows
from shardy_py.hlo.collectives.flow import MOVING, Flow
from shardy_py.hlo.text import NO_ORIGIN, Computation, Instruction, Origin, Shape, SourceOrigins

_NEAR = 3
"""Origins that are kept on each side of a value."""
_FAR = 12
"""Instructions without metadata that are looked through on each side."""


class ValueSurroundings:
    """The surroundings of values of a module."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.sources = SourceOrigins(flow.module)

    def parts(self, computation: Computation, name: str) -> tuple[str, ...]:
        """Returns the instructions whose values an operand has, one after the other: of a concatenation
        that compilers make to send several values as one; else itself."""
        made = computation.by_name[name]
        inner = self.flow.fused(made)
        root = made if inner is None else inner.by_name[inner.root]
        if root.opcode != "concatenate" or len(root.shape.sizes) != 1:
            return (name,)
        if inner is None:
            return made.operands
        numbers = [inner.by_name[each].parameter for each in root.operands]
        if any(number is None for number in numbers):
            return (name,)
        return tuple(made.operands[number] for number in numbers if number is not None)

    def slices(self, computation: Computation, names: tuple[str, ...]) -> dict[int, tuple[str, ...]]:
        """Returns the instructions that take parts of flat values, by where the parts start."""
        found: dict[int, tuple[str, ...]] = {}
        for user in (user for name in names for user in self.flow.users(computation).get(name, ())):
            inner = self.flow.fused(user)
            root = user if inner is None else inner.by_name[inner.root]
            while inner is not None and root.opcode == "bitcast":
                root = inner.by_name[root.operands[0]]
            limits = integer_rows(root, "slice")
            if root.opcode == "slice" and len(limits) == 1:
                start = limits[0][0]
                found[start] = (*found.get(start, ()), user.name)
        return found

    def shape(self, computation: Computation, name: str) -> Shape:
        """Returns the shape of a value before it was flattened."""
        made = computation.by_name[name]
        while made.opcode == "bitcast" and made.operands:
            before = computation.by_name[made.operands[0]]
            if before.shape.is_tuple or before.shape.element != made.shape.element:
                break
            made = before
        return made.shape

    def makers(self, computation: Computation, name: str) -> tuple[Origin, ...]:
        """Returns the origins of what makes a value, the nearest first."""
        found: dict[Origin, None] = {}
        left = _FAR
        while left and len(found) < _NEAR:
            made = computation.by_name[name]
            for origin in self._origins(computation, made):
                found.setdefault(origin)
            if made.opcode == "get-tuple-element":
                for origin in self._element(computation, made):
                    found.setdefault(origin)
            following = made.operands[0] if made.operands and _is_moving(made) else ""
            if not following:
                break
            name, left = following, left - 1
        return tuple(found)[:_NEAR]

    def readers(self, computation: Computation, names: tuple[str, ...]) -> tuple[Origin, ...]:
        """Returns the origins of what reads values, the nearest first."""
        users = self.flow.users(computation)
        found: dict[Origin, None] = {}
        seen, level = set(names), list(names)
        for _ in range(_FAR):
            following: list[str] = []
            for name in level:
                for user in users.get(name, ()):
                    if user.name in seen:
                        continue
                    seen.add(user.name)
                    for origin in self._origins(computation, user):
                        found.setdefault(origin)
                    if _is_moving(user) or not found:
                        following.append(user.name)
            if len(found) >= _NEAR or not following or len(seen) > _FAR * _NEAR:
                break
            level = following
        return tuple(found)[:_NEAR]

    def _origins(self, computation: Computation, made: Instruction) -> Iterator[Origin]:
        """The origins of an instruction: its own, and that of what a fusion computes last."""
        origin = self.sources.of(made)
        if origin != NO_ORIGIN and made.opcode != "parameter":
            yield origin
        inner = self.flow.fused(made)
        if inner is not None:
            yield from self._last(inner, inner.root)

    def _element(self, computation: Computation, made: Instruction) -> Iterator[Origin]:
        """The origin of an element of what a fusion computes."""
        of = computation.by_name[made.operands[0]]
        inner, index = self.flow.fused(of), made.attributes.get("index")
        if inner is None or not isinstance(index, int):
            return
        root = inner.by_name[inner.root]
        if root.opcode == "tuple" and index < len(root.operands):
            yield from self._last(inner, root.operands[index])

    def _last(self, inner: Computation, name: str) -> Iterator[Origin]:
        """The origins of a value of a fusion, through what only moves it."""
        for _ in range(_FAR):
            made = inner.by_name[name]
            origin = self.sources.of(made)
            if origin != NO_ORIGIN and made.opcode not in ("parameter", "tuple"):
                yield origin
            if not made.operands or made.opcode not in MOVING:
                return
            name = made.operands[0]


def _is_moving(made: Instruction) -> bool:
    return made.opcode in MOVING or made.opcode in ("get-tuple-element", "slice", "dynamic-slice")
