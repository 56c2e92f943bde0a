"""Dataclasses whose methods are made on first use behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, replace
from typing import Any, ClassVar

import pytest

from shardy_py.base import records

OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "kw_only": kw_only}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
    for kw_only in (False, True)
]


def made(decorator: Callable[..., Any], options: dict[str, bool]) -> Any:
    @decorator(**options)
    class Row:
        """A row."""

        name: str
        size: int = 3
        parts: list[int] = field(default_factory=list)
        hidden: str = field(default="h", repr=False, compare=False)
        total: int = field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.size + len(self.parts))

    return Row


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(k for k, v in o.items() if v) or "plain")
def test_as_the_standard_decorator(options: dict[str, bool]) -> None:
    ours, theirs = made(records.dataclass, options), made(dataclasses.dataclass, options)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    seen: list[list[object]] = []
    for row in (ours, theirs):
        one, other = row(name="a"), row(name="a", parts=[1], hidden="x")
        changed = replace(one, size=5)
        facts: list[object] = [
            repr(one),
            repr(changed),
            one == other,
            one == row(name="a"),
            one == 1,
            changed.total,
        ]
        for act, *arguments in (
            (hash, one),
            (setattr, one, "size", 9),
            (delattr, one, "size"),
            (row,),
        ):
            try:
                facts.append(isinstance(act(*arguments), int))
            except (TypeError, FrozenInstanceError, AttributeError) as error:
                facts.append((type(error), str(error)))
        facts += [dataclasses.asdict(other), hasattr(one, "__dict__"), repr(copy.deepcopy(other))]
        seen.append(facts)
    assert seen[0] == seen[1]


@records.dataclass(frozen=True, slots=True)
class Base:
    """A base."""

    x: int
    y: tuple[int, ...] = ()


@records.dataclass(frozen=True, slots=True)
class Derived(Base):
    """Adds a field."""

    z: str = "z"


@dataclasses.dataclass(frozen=True, slots=True)
class Mixed(Base):
    """A standard dataclass whose base is one of ours."""

    z: str = "z"


@pytest.mark.parametrize("row", [Base, Derived, Mixed])
def test_copies_pickles_and_subclasses(row: type[Base]) -> None:
    one = row(1, (2,))
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one
    assert len({one, row(1, (2,)), row(2)}) == 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2  # pyright: ignore
    match one:
        case Base(x, y):
            assert (x, y) == (1, (2,))


def test_own_methods_stay() -> None:
    @records.dataclass(frozen=True)
    class Row:
        """A row."""

        x: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    assert (repr(Row(1)), hash(Row(1)), Row(1) == Row(1)) == ("own", 7, True)


def test_a_frozen_class_does_not_inherit_from_one_that_is_not() -> None:
    @records.dataclass()
    class Open:
        """May be changed."""

        x: int

    with pytest.raises(TypeError, match="cannot inherit frozen dataclass from a non-frozen one"):

        @records.dataclass(frozen=True)
        class _Closed(Open):
            """May not."""


def test_a_row_within_itself_is_shown() -> None:
    @records.dataclass()
    class Node:
        """A node."""

        next: Any = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")


def test_a_frozen_class_takes_no_further_attributes() -> None:
    class More(Base):
        pass

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'more'"):
        Base(1).more = 1  # pyright: ignore
    row: Any = More(1)
    row.more = 1
    assert row.more == 1


def _compiled_initializer(row: type) -> bool:
    return inspect.isfunction(vars(row)["__init__"])


def test_initializers_are_compiled_for_many_objects_only() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Row:
        """A row."""

        x: int
        parts: list[int] = field(default_factory=list[int])

    first = Row(1)
    assert not _compiled_initializer(Row)
    rows = [Row(1, parts=[]) for _ in range(100)]
    assert _compiled_initializer(Row)
    assert rows == [first] * 100
    assert first.parts is not Row(1).parts


@pytest.mark.parametrize(
    "arguments", [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2})], ids=str
)
def test_wrong_arguments_are_described(arguments: tuple[tuple[int, ...], dict[str, int]]) -> None:
    rows: list[Any] = []
    for decorator in (records.dataclass, dataclasses.dataclass):

        @decorator(kw_only=False)
        class Row:
            """A row."""

            x: int
            y: int = 0

        rows.append(Row)
    given, named = arguments
    found: list[str] = []
    for row in rows:
        with pytest.raises(TypeError) as error:
            row(*given, **named)
        found.append(str(error.value))
    assert found[0] == found[1]


def test_what_only_the_standard_decorator_reads() -> None:
    @records.dataclass(frozen=True)
    class Row:
        """A row."""

        count: ClassVar[int] = 3
        x: int

    assert [each.name for each in dataclasses.fields(Row)] == ["x"]
    assert (Row(1), Row.count) == (Row(x=1), 3)
    with pytest.raises(ValueError, match="mutable default"):

        @records.dataclass
        class _Shared:
            """A row."""

            parts: list[int] = []


FAMILIES = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only}
    for frozen in (False, True)
    for slots in (False, True)
    for kw_only in (False, True)
]


def family(decorator: Callable[..., Any], options: dict[str, bool]) -> tuple[Any, ...]:
    """A class, one that changes a default of it and adds fields, one that adds none, one of two bases."""

    @decorator(**options)
    class First:
        """The first."""

        x: int = 0
        y: tuple[int, ...] = ()

    @decorator(**options)
    class Second(First):
        """Another default in the same place, and two more fields."""

        z: list[int] = field(default_factory=list, compare=False)
        x: int = 5
        w: str = field(default="w", repr=False)

    @decorator(**options)
    class Third(Second):
        """No field."""

    if options["slots"]:  # several bases with slots do not go together
        return First, Second, Third

    @decorator(**options)
    class Other:
        """Unrelated."""

        o: int = 1

    @decorator(**options)
    class Both(Third, Other):
        """Two bases."""

        b: int = 2

    return First, Second, Third, Both


@pytest.mark.parametrize("options", FAMILIES, ids=lambda o: "-".join(k for k, v in o.items() if v) or "plain")
def test_inherited_fields_as_the_standard_decorator(options: dict[str, bool]) -> None:
    for ours, theirs in zip(
        family(records.dataclass, options), family(dataclasses.dataclass, options), strict=True
    ):
        assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
        assert ours.__match_args__ == theirs.__match_args__
        assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
        assert vars(ours).get("__slots__") == vars(theirs).get("__slots__")
        seen: list[list[object]] = []
        for row in (ours, theirs):
            one, other = row(x=1), row(x=2)
            facts = [repr(one), one == row(x=1), one == other, repr(replace(one, y=(3,)))]
            facts += [copy.copy(one) == one, one.__hash__ is None or hash(one) == hash(row(x=1))]
            for name in ("x", "new"):
                try:
                    setattr(one, name, 7)
                    facts.append(getattr(one, name))
                except (AttributeError, TypeError):  # the standard one of a new name is not always its own
                    facts.append("refused")
            seen.append(facts)
        assert seen[0] == seen[1]


def test_inherited_classes_are_not_compiled_when_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(records, "_standard", lambda *args, **rest: compiled.append(args))
    first, *rest = family(records.dataclass, {"frozen": True, "slots": False, "kw_only": False})
    assert [each().x for each in (first, *rest)] == [0, 5, 5, 5]
    assert compiled == []


def test_variables_of_an_inherited_class_are_no_fields() -> None:
    """As of xDSL's passes, whose name is a variable of the class."""

    @dataclasses.dataclass
    class Pass:
        name: ClassVar[str]

    @records.dataclass
    class Propagation(Pass):
        name = "propagate"
        depth: int = 1

    assert vars(Propagation()) == {"depth": 1}
    assert [each.name for each in dataclasses.fields(Propagation)] == ["depth"]
