"""Short notation for the tests: shardings and rules from text, on one mesh.

`sharding("[{a, ?}, {b:(1)2}p1] replicated={c}")`, `rule("ik, kj -> ij, i=8, j=4, k=2", reduction="k")`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shardy_py.ops import Role
from shardy_py.propagation.flat import UNSHARDABLE, FlatProgram, StepKind
from shardy_py.propagation.journal import Arrivals, Journal
from shardy_py.sharding import (
    AxisRef,
    DimensionSharding,
    Factor,
    FactorType,
    Mesh,
    MeshAxis,
    ShardingRule,
    SubAxis,
    TensorSharding,
)

MESH = Mesh((MeshAxis("a", 2), MeshAxis("b", 4), MeshAxis("c", 2), MeshAxis("t", 3)))
MESHES = {"mesh": MESH, "maximal": Mesh((), (0,)), "empty": Mesh(), "other": Mesh((MeshAxis("a", 8),))}


def axis(text: str) -> AxisRef:
    name, _, part = text.strip().partition(":")
    numbers = re.fullmatch(r"\((\d+)\)(\d+)", part)
    return AxisRef(name, SubAxis(int(numbers[1]), int(numbers[2])) if numbers else None)


def axes(text: str) -> tuple[AxisRef, ...]:
    return tuple(axis(part) for part in text.split(",") if part.strip() not in ("", "?"))


def sharding(text: str, mesh: str = "mesh") -> TensorSharding:
    dimensions, _, rest = text.partition("]")
    found = [
        DimensionSharding(axes(inner), "?" not in inner, int(priority) if priority else None)
        for inner, priority in re.findall(r"\{([^}]*)\}(?:p(\d))?", dimensions)
    ]
    lists = dict(re.findall(r"(replicated|unreduced)=\{([^}]*)\}", rest))
    return TensorSharding(
        mesh, tuple(found), axes(lists.get("replicated", "")), axes(lists.get("unreduced", ""))
    )


def shardings(text: str) -> tuple[TensorSharding | None, ...]:
    """Shardings apart by `;`, a `-` for none."""
    return tuple(None if part.strip() == "-" else sharding(part.strip()) for part in text.split(";"))


def short(value: TensorSharding | None) -> str:
    """A sharding as `sharding` reads it."""
    if value is None:
        return "-"
    text = str(value).replace('"', "").partition("@" + str(value.mesh) + ", ")[2].rstrip(">")
    return text.replace(", replicated", " replicated").replace(", unreduced", " unreduced")


def rule(text: str, *, reduction: str = "", whole: str = "", blocked: str = "") -> ShardingRule:
    """`"ik, kj -> ij, i=8, j=4, k=2"`: a letter a dimension; `(ij)` for a dimension of two factors."""
    tensors, _, sizes = text.partition(", i=")
    size_of = {n: int(s) for n, s in re.findall(r"(\w)=(\d+)", "i=" + sizes)} if sizes else {}
    names = sorted(size_of)
    operands, _, results = tensors.partition("->")

    def tensor(word: str) -> tuple[tuple[int, ...], ...]:
        parts = re.findall(r"\((\w+)\)|(\w)", word)
        return tuple(tuple(names.index(n) for n in many or one) for many, one in parts)

    def kind(name: str) -> FactorType:
        if name in reduction:
            return FactorType.REDUCTION
        return FactorType.NEED_REPLICATION if name in whole else FactorType.PASS_THROUGH

    factors = tuple(Factor(size_of[n], kind(n), n in blocked) for n in names)
    sides = [
        tuple(tensor(w) for w in side.split(",") if w.strip() or side.strip()) for side in (operands, results)
    ]
    return ShardingRule(factors, sides[0], sides[1])


def step(text: str, role: Role = Role.OTHER, *, shared: bool = False, **kinds: str) -> StepKind:
    """A kind of step with the rule that `text` spells; pass-through steps are elementwise."""
    return StepKind(rule(text, **kinds), role, role is Role.PASS_THROUGH, shared)


ADD = "ij, ij -> ij, i=8, j=8"
DOT = "ik, kj -> ij, i=8, j=8, k=8"


def changes(
    program: FlatProgram, journal: Journal
) -> Iterator[tuple[int, int, TensorSharding | None, TensorSharding | None]]:
    """Each change of a slot, by replaying the journal: the step, the slot, its old and new sharding."""
    held, settings, values = list(journal.start_numbers), list(journal.settings), journal.values
    for index, (step, _, _, changed) in enumerate(journal.entries):
        while settings and settings[0].first_entry <= index:
            setting = settings.pop(0)
            held[setting.slot] = setting.number
        for position, new in changed:
            slot = Arrivals(program, journal).slots_of(step)[position]
            for member in (slot, *(other.slot for other in program.groups.get(slot, ()))):
                if member != UNSHARDABLE:
                    yield step, member, values[held[member]], values[new]
                    held[member] = new
