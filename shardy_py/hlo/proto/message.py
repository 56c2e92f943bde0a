"""Decodes messages by the rows of `schema.py`: fields by name, with the defaults of protocol buffers.

>>> decoded(bytes.fromhex("0a0568656c6c6f1805"), "HloComputationProto").text("name")
'hello'

Not here: what the fields mean (`reader.py`, `attributes.py`).
"""

from __future__ import annotations

import struct
from dataclasses import field

from shardy_py.base.errors import ShardyError
from shardy_py.base.packed import unpacked
from shardy_py.base.records import dataclass
from shardy_py.base.wire import BYTES, FIXED32, fields_of
from shardy_py.hlo.proto.schema import MESSAGES, Field
from shardy_py.hlo.text.opcodes import Values

MOST_NESTED = 100


@dataclass(frozen=True, slots=True)
class HloMessage:
    """The fields of a message by name: those of its bytes, decoded as their kinds say."""

    values: Values = field(default_factory=Values)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def integer(self, name: str) -> int:
        """An integer or a bool."""
        return self.values.get(name, 0)

    def text(self, name: str) -> str:
        """A string."""
        return self.values.get(name, "")

    def data(self, name: str) -> bytes:
        """Bytes."""
        return self.values.get(name, b"")

    def number(self, name: str) -> float:
        """A floating-point number."""
        return self.values.get(name, 0.0)

    def message(self, name: str) -> HloMessage:
        """A message; one without fields if there is none."""
        return self.values.get(name, HloMessage())

    def integers(self, name: str) -> tuple[int, ...]:
        """The integers of a repeated field."""
        return tuple(self.values.get(name, ()))

    def texts(self, name: str) -> tuple[str, ...]:
        """The strings of a repeated field."""
        return tuple(self.values.get(name, ()))

    def messages(self, name: str) -> tuple[HloMessage, ...]:
        """The messages of a repeated field."""
        return tuple(self.values.get(name, ()))

    def raws(self, name: str) -> tuple[bytes, ...]:
        """The bytes of a repeated field."""
        return tuple(self.values.get(name, ()))


def decoded(data: bytes, name: str, depth: int = 0) -> HloMessage:
    """Returns a message of that name.

    Raises:
        ShardyError: the data is malformed.
    """
    if depth > MOST_NESTED:
        raise ShardyError(f"nesting exceeds {MOST_NESTED} levels")
    rows, values = MESSAGES[name], Values()
    for number, kind, value in fields_of(data):
        row = rows.get(number)
        if row is not None:
            _add(values, row, kind, value, depth)
    return HloMessage(values)


def _add(values: Values, row: Field, kind: int, value: int | bytes, depth: int) -> None:
    """Adds a value of the wire; one of another kind than the row's is left out."""
    if row.kind in ("int", "bool"):
        found = (value,) if isinstance(value, int) else unpacked(value)
        if row.is_repeated:
            values.setdefault(row.name, []).extend(found)
        elif isinstance(value, int):
            values[row.name] = bool(value) if row.kind == "bool" else value
    elif not isinstance(value, bytes):
        return
    elif row.kind == "raw" and not row.is_repeated and kind != BYTES:
        values[row.name] = values.get(row.name, b"") + value  # an element of a list that is not packed
    elif row.kind == "float":
        if kind == FIXED32:
            values[row.name] = struct.unpack("<f", value)[0]
    elif kind == BYTES:
        made = _made(row.kind, value, depth)
        if row.is_repeated:
            values.setdefault(row.name, []).append(made)
        else:
            values[row.name] = made


def _made(kind: str, value: bytes, depth: int) -> object:
    if kind in ("bytes", "raw"):
        return value
    return value.decode("utf-8", "replace") if kind == "string" else decoded(value, kind, depth + 1)
