"""The data of the page: items, values, shardings over time, collectives, memory. Written as JSON.

Columns are lists of equal length; texts, types and shardings are interned and named by position. The page
(`page/`) computes local shapes and bytes itself. Not here: the HTML around it (`page.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation

from shardy_py.base.json_values import Json, JsonObject
from shardy_py.base.session import SESSION
from shardy_py.base.terminal import without_controls
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.ir import written_name
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.matching import match_values
from shardy_py.report.tables import type_text
from shardy_py.report.verdict import CollectivePlace
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.viewer.explorer.divided import divided
from shardy_py.viewer.explorer.history import ShownStep, history_of
from shardy_py.viewer.explorer.items import Item, Items, beside, collect_items, depths, main_first
from shardy_py.viewer.explorer.judged import judged
from shardy_py.viewer.explorer.lives import lives
from shardy_py.viewer.explorer.placement import place, wrapped
from shardy_py.viewer.explorer.refused import alike, refused
from shardy_py.viewer.explorer.scopes import folded
from shardy_py.viewer.explorer.sent import Row, collective_rows, differences, needed_by
from shardy_py.viewer.explorer.subject import Subject

SCHEMA = 2
LONGEST_TEXT = 400
_BOLD, _CHARACTER, _MARGIN, _NARROWEST, _WIDEST = 7.4, 6.7, 20, 84, 320


_Own = Callable[["Operation | None"], "Operation | None"]
"""Finds the op of the program that is drawn for an op of a report."""


class _Interned:
    """Keys by position, in the order in which they were first asked for."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def of(self, key: Hashable) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def document(subject: Subject, other: Subject | None = None) -> JsonObject:
    """Returns the data of a page: of one program, or of two, the second as a state of the first."""
    return _Writer(subject).document(other)


class _Writer:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.table = subject.table
        self.meshes = Symbols(self.table.module).meshes()
        self.items: Items = divided(folded(collect_items(self.table)))
        of = ShardingReader().of
        self.given = [e.sharding if e.value is None else of(e.value) for e in self.table.entries]
        self.texts, self.types, self.shardings = _Interned(), _Interned(), _Interned()
        self.states: list[Sequence[TensorSharding | None]] = [self.given]
        self.matched: Sequence[tuple[ValueEntry, ValueEntry]] = ()
        self.locations: dict[int, str] = {}
        self.known_types: dict[int, tuple[int, int]] = {}
        self.alike = alike(self.items, self.given)
        self.numbers: dict[int, tuple[int, TensorSharding | None]] = {}  # with what has the identity
        self.texts.of("")
        self.shardings.of(None)

    def document(self, other: Subject | None) -> JsonObject:
        if other is not None:
            self.matched = match_values(self.table, other.table).pairs
            self.states.append(self._counterparts())
        history = history_of(self.table, self.given, self.subject.record)
        final = [self._sharding(sharding) for sharding in self.given]
        start = [self._sharding(sharding) for sharding in history.start]
        steps = [self._step(step) for step in history.steps]
        sent = self._collectives(self.subject.communication, _same)
        made: JsonObject = {
            "schema": SCHEMA,
            "title": _text(self.subject.title),
            "items": self._items(),
            "values": {**self._values(), "start": start, "final": final},
            "edges": self._edges(),
            "layouts": self._layouts(),
            "lives": self._lives(),
            "steps": steps,
            "collectives": sent,
            "summary": _summary(self.subject),
            "verdict": self._verdict(),
            "findings": self._findings(self.subject, self.table),
            "compiled": self._compiled(),
            "refused": self._refused(),
            "alike": self.alike,
            "sources": [
                [_text(f), [[n, _text(t)] for n, t in lines.items()]]
                for f, lines in self.subject.sources.items()
            ],
            "other": None if other is None else self._other(other, sent),
        }
        tables: dict[str, Any] = {
            "meshes": [_mesh(name, mesh) for name, mesh in self.meshes.items()],
            "texts": [*self.texts.numbers],
            "types": [*self.types.numbers],
            "shardings": [self._sharding_row(each) for each in self.shardings.numbers],
        }
        return {**made, **tables}

    def _other(self, other: Subject, sent: Sequence[Row]) -> JsonObject:
        """The second program: its shardings of the values of the first, its collectives, and what differs."""
        final = [-1] * len(self.table.entries)
        for number, sharding in self._of_second():
            final[number] = self._sharding(sharding)
        ops = {id(new.op): old.op for old, new in self.matched}

        def counterpart(op: Operation | None) -> Operation | None:
            return ops.get(id(op))

        names = {str(new): old for old, new in self.matched}
        its_own = self._collectives(other.communication, counterpart)
        return {
            "title": _text(other.title),
            "final": final,
            "collectives": its_own,
            "differences": differences(sent, its_own),
            "findings": self._findings(other, self.table, names),
            "summary": _summary(other),
        }

    def _verdict(self) -> JsonObject | None:
        subject = self.subject
        if subject.verdict is None or subject.communication is None:
            return None
        return judged(subject.verdict, subject.communication, self._item, subject.lines)

    def _compiled(self) -> JsonObject | None:
        compiled, report = self.subject.compiled, self.subject.communication
        if compiled is None or report is None:
            return None
        from shardy_py.viewer.explorer.joined import joined

        rows = {CollectivePlace.of(use): number for number, use in reversed([*enumerate(report.sending)])}
        return joined(compiled, lambda use: rows.get(CollectivePlace.of(use), -1), self._needing(_same))

    def _findings(
        self, subject: Subject, table: ValueTable, counterparts: Mapping[str, ValueEntry] | None = None
    ) -> list[list[Json]] | None:
        """Code, level, message, remedy, place, item.

        counterparts: by name, the values of the first program.
        """
        if subject.findings is None:
            return None
        known = {str(e): e for e in table.entries} if counterparts is None else counterparts
        numbers = {id(entry): number for number, entry in enumerate(table.entries)}
        found: list[list[Json]] = []
        for each in subject.findings:
            entry = known.get(each.value)
            item = -1 if entry is None else self.items.maker[numbers[id(entry)]]
            words = each.code, each.level, each.message, each.remedy, each.place
            found.append([*map(_text, words), item])
        return found

    def _refused(self) -> list[list[Json]]:
        """Value, dimension, axis and reasons, the nearest first."""
        return [
            [r.value, r.dimension, *(self.texts.of(_text(text)) for text in (r.axis, *r.reasons))]
            for r in refused(self.items, self.given, self.meshes, self.subject.why_not, self.alike)
        ]

    def _counterparts(self) -> list[TensorSharding | None]:
        found: list[TensorSharding | None] = [None] * len(self.given)
        for number, sharding in self._of_second():
            found[number] = sharding
        return found

    def _of_second(self) -> Iterator[tuple[int, TensorSharding | None]]:
        """The shardings of the second program of values of the first, by their positions."""
        numbers = {id(entry): number for number, entry in enumerate(self.table.entries)}
        return ((numbers[id(old)], new.sharding) for old, new in self.matched)

    def _items(self) -> dict[str, list[Json]]:
        found = self.items.found
        return {
            "kind": [self.texts.of(item.kind) for item in found],
            "label": [self.texts.of(_text(item.label)) for item in found],
            "op": [self.texts.of(_text(written_name(item.op)) if item.op else "") for item in found],
            "parent": [item.parent for item in found],
            "place": [self.texts.of(self._place(item)) for item in found],
        }

    def _place(self, item: Item) -> str:
        if item.kind == "argument" and item.values:
            return self._location(self.table.entries[item.values[0]].location)
        return "" if item.op is None else self._location(_location(item.op))

    def _location(self, location: Any) -> str:
        """Locations are shared by ops, and kept alive by them."""
        known = self.locations.get(id(location))
        if known is None:
            known = self.locations[id(location)] = _text(location_text(location))
        return known

    def _values(self) -> JsonObject:
        entries = self.table.entries
        return {
            "item": self.items.maker,
            "type": [self._type(entry.type)[0] for entry in entries],
            "name": [self.texts.of(_text(str(entry))) for entry in entries],
        }

    def _type(self, type_: Attribute) -> tuple[int, int]:
        """The number of a type, and the length of its text; types are shared by values, and kept alive."""
        known = self.known_types.get(id(type_))
        if known is None:
            element, shape, _ = row = _type(type_)
            known = self.known_types[id(type_)] = self.types.of(row), len(type_text(shape, element))
        return known

    def _edges(self) -> list[list[int]]:
        edges, made = self.items.edges, self.items.maker
        drawn = [edge for edge in edges if made[edge.value] >= 0]
        return [[e.value for e in drawn], [e.item for e in drawn], [e.operand for e in drawn]]

    def _lives(self) -> list[list[int]]:
        found = lives(self.items)
        return [found.order, found.first, found.last]

    def _layouts(self) -> list[list[Json]]:
        """For each group its number, children, rows of children by index, centers, waypoints and widths."""
        found = self.items.found
        depth, index = depths(found), [0] * len(found)
        for item in found:
            for at, child in enumerate(item.children):
                index[child] = at
        between: dict[int, set[tuple[int, int]]] = {}
        for edge in self.items.edges:
            source = self.items.maker[edge.value]
            target = edge.item
            if source < 0:
                continue
            if found[source].parent != found[target].parent:
                pair = beside(found, depth, source, target)
                if pair is None:
                    continue
                source, target = pair
            between.setdefault(found[source].parent, set()).add((index[source], index[target]))
        layouts: list[list[Json]] = []
        for number, item in enumerate(found):
            if item.children and item.kind != "repeat":
                widths = tuple(self._width(found[child]) for child in item.children)
                if item.kind == "root":
                    placed = wrapped(widths, item.children.index(next(main_first(self.items))))
                else:
                    placed = place(widths, frozenset(between.get(number, ())))
                points = [[*pair, *chain] for pair, chain in placed.waypoints.items()]
                layouts.append([number, item.children, placed.rows, placed.centers, points, widths])
        return layouts

    def _width(self, item: Item) -> int:
        """In pixels, of the closed item: of its label and name, or of its type with axes."""
        entries = self.table.entries
        title, below = len(item.label) + 2, 26 if item.children else 0
        if item.kind == "repeat":
            title += len(str(len(item.children))) + 4  # the page adds how often it recurs
        if item.values:
            entry = entries[item.values[0]]
            title += len(entry.name) + 1
            axes = max(_axes_length(state[item.values[0]]) for state in self.states)
            below = self._type(entry.type)[1] + 2 + axes
        width = max(title * _BOLD, below * _CHARACTER) + _MARGIN
        return round(min(max(width, _NARROWEST), _WIDEST))

    def _step(self, step: ShownStep) -> list[Json]:
        moves = [
            [m.value, m.dimension, self.texts.of(m.axis), m.source, m.source_dimension] for m in step.moves
        ]
        changes = [number for value, new in step.changes for number in (value, self._sharding(new))]
        item = -1 if step.op is None else self._item(step.op)
        return [self.texts.of(step.stage), item, changes, moves]

    def _item(self, op: Operation | None) -> int:
        return -1 if op is None else self.items.of_op.get(id(op), -1)

    def _collectives(self, report: CommunicationReport | None, own: _Own) -> list[Row]:
        return collective_rows(report, lambda words: self.texts.of(_text(words)), self._needing(own))

    def _needing(self, own: _Own) -> Callable[[CollectiveUse], int]:
        return lambda use: needed_by(use, lambda op: self._item(own(op)), lambda: self.items.needing(None))

    def _sharding(self, sharding: TensorSharding | None) -> int:
        known = self.numbers.get(id(sharding))
        if known is None:
            known = self.numbers[id(sharding)] = self.shardings.of(sharding), sharding
        return known[0]

    def _sharding_row(self, sharding: Any) -> object:
        """Mesh, axes of each dimension, unreduced axes, text; axes with the number of their parts."""
        if sharding is None:
            return None
        mesh = mesh_of(sharding, self.meshes)
        dimensions = [_axes(d.axes, mesh) for d in sharding.dimensions]
        name = sharding.mesh if isinstance(sharding.mesh, str) else ""
        return [name, dimensions, _axes(sharding.unreduced_axes, mesh), _text(str(sharding))]


def _same(op: Operation | None) -> Operation | None:
    return op


@SESSION.cache(4096)
def _axes_length(sharding: TensorSharding | None) -> int:
    """Characters of the axes in a type such as `f32[8@data]`."""
    if sharding is None:
        return 0
    return sum(len(str(axis)) - 1 for each in sharding.dimensions for axis in each.axes)


def _axes(axes: Iterable[Any], mesh: Mesh) -> list[Json]:
    return [part for axis in axes for part in (_text(str(axis).replace('"', "")), axis.size(mesh))]


def _type(type_: Attribute) -> tuple[str, tuple[int | None, ...], int]:
    """Element, sizes and bits of an element; of other types than tensors their text."""
    tensor = tensor_type(type_)
    if tensor is None:
        return _text(str(type_)), (), 0
    return tensor.element, tensor.shape, element_type(tensor.element).bits


def _mesh(name: str, mesh: Mesh) -> list[Json]:
    axes = [part for axis in mesh.axes for part in (_text(axis.name), axis.size)]
    ids = [*mesh.device_ids] if mesh.device_ids and len(mesh.device_ids) <= 4096 else []
    return [_text(name), axes, ids]


def _summary(subject: Subject) -> list[Json]:
    report = subject.communication
    if report is None:
        return []
    return [
        report.total.bytes,
        report.total.seconds,
        len(report.sending),
        f"{report.partitioner}, {report.stage_words}",
        report.model.name,
        subject.memory_bytes,
    ]


def _location(op: Operation) -> Any:
    return op.location  # pyright: ignore[reportAttributeAccessIssue]


def _text(text: str) -> str:
    """A name of the program without control characters, and not longer than a page can show."""
    shown = without_controls(text, lines=False)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[:LONGEST_TEXT]}..."
