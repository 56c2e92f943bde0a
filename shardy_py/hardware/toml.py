"""Hardware of users, in TOML: the figures of a device, or what differs from a known one.

    name = "my-chip"
    base = "tpu-v5p"
    memory_gib = 128
    memory_gb_per_second = 4000
    vector_tflops = 20
    layouts = "tpu"
    source = "https://example.com/my-chip: 128 GiB"

    [matrix_tflops]
    bf16 = 900

    [network]
    kind = "torus"
    dimensions = 3
    devices = 4096
    ring = 4
    gb_per_second = 200
    latency_us = 1

    [beyond]
    gb_per_second = 12.5
    latency_us = 10

Without `base` all but `source` is required. Not here: the known devices (`table.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.toml import toml_values
from shardy_py.hardware.model import Hardware, Link, NamedLink, Network
from shardy_py.hardware.names import known_hardware
from shardy_py.hardware.table import HARDWARE
from shardy_py.indexing.layout.formats import TARGETS

_TOP = ("name", "base", "memory_gib", "memory_gb_per_second", "vector_tflops", "layouts", "source")
_MOST = 1e24
"""The limit of a figure, far beyond any device."""
_TABLES: Mapping[str, tuple[str, ...]] = {
    "matrix_tflops": (),
    "network": ("kind", "dimensions", "devices", "devices_per_chip", "ring", "gb_per_second", "latency_us"),
    "beyond": ("gb_per_second", "latency_us"),
}


def load(path: str | Path) -> Hardware:
    """Returns the device of a TOML file.

    Raises:
        ShardyError: the file cannot be read, is not TOML, lacks a figure, or has an unknown or invalid one.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        reason = getattr(error, "strerror", None) or (str(error) if is_text else "it is not UTF-8")
        raise ShardyError(Diagnostic(f"cannot read '{path}': {reason}", subject=str(path))) from error
    return parse(text, str(path))


def parse(text: str, file: str = "-") -> Hardware:
    """Returns the device of TOML text; raises as `load` does."""
    return _Reader(text, file, toml_values(text, file)).hardware()


def shortened(value: object) -> str:
    """Returns the text of a value, or its beginning."""
    try:
        text = repr(value)
    except ValueError:
        text = "an integer with too many digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True)
class _Reader:
    text: str
    file: str
    values: Mapping[str, Any]

    def hardware(self) -> Hardware:
        self._check_keys()
        base = self._base()
        known = known_hardware(base) if base else None
        name = self._text("", "name", known)
        rates = dict(known.matrix_flops) if known else {}
        for kind in self._table("matrix_tflops"):
            rates[kind] = self._number("matrix_tflops", kind) * 1e12
        if "bf16" not in rates:
            raise self._missing("matrix_tflops", "bf16")
        rates.setdefault("", rates["bf16"])
        layouts = self._text("", "layouts", known, "target")
        if layouts not in TARGETS:
            raise ShardyError.unknown("layouts", layouts, TARGETS, where=self._place("", "layouts"))
        memory = self._number("", "memory_gib", known and known.memory_bytes / 2**30)
        rate = self._number("", "memory_gb_per_second", known and known.memory_bytes_per_second / 1e9)
        vector = self._number("", "vector_tflops", known and known.vector_flops / 1e12)
        source = str(self.values.get("source", known.source if known else self.file))
        return Hardware(
            *(name, int(memory * 2**30), rate * 1e9, rates, vector * 1e12),
            *(layouts, self._network(known), self._link("beyond", known and known.beyond), source),
            known.compiler if known else "",
            known.cores if known else 0,
            known.loop_rows if known else 0,
            known.scoped_bytes if known else 0,
            known.windows if known else None,
        )

    def _base(self) -> str:
        base = self.values.get("base", "")
        if base and known_hardware(str(base)) is None:
            raise ShardyError.unknown("hardware", str(base), HARDWARE, where=self._place("", "base"))
        return cast("str", base)

    def _network(self, known: Hardware | None) -> Network:
        link = self._link("network", known and known.network.link)
        if known is not None and "network" not in self.values:
            return known.network
        start = known.network if known else None
        kind = str(self._table("network").get("kind", start.kind if start else ""))
        if kind not in ("torus", "switch"):
            where = self._place("network", "kind")
            raise ShardyError.unexpected("kind", expected="'torus' or 'switch'", got=f"'{kind}'", where=where)
        devices = self._count("devices", start.devices if start else None)
        if kind == "switch":
            return Network("switch", devices, link)
        dimensions = self._count("dimensions", start.dimensions if start else None)
        if dimensions > 3:
            where = self._place("network", "dimensions")
            raise ShardyError.unexpected("dimensions", expected="1 to 3", got=str(dimensions), where=where)
        ring = self._count("ring", start.ring if start else 1)
        cores = self._count("devices_per_chip", start.cores if start else 1)
        return Network("torus", devices, link, dimensions, ring, cores, start.core_link if start else None)

    def _count(self, key: str, default: int | None) -> int:
        number = self._number("network", key, default)
        if number != int(number):
            where = self._place("network", key)
            raise ShardyError.unexpected(key, expected="an integer", got=str(number), where=where)
        return int(number)

    def _link(self, table: str, known: NamedLink | None) -> NamedLink:
        if known is not None and not {"gb_per_second", "latency_us"} & self._table(table).keys():
            return known
        rate = self._number(table, "gb_per_second", known and known.link.bytes_per_second / 1e9)
        latency = self._number(table, "latency_us", known and known.link.latency_seconds * 1e6)
        made = Link(rate * 1e9, latency / 1e6)
        return NamedLink(f"{table} of {self.values.get('name', self.file)}", made, self.file)

    def _table(self, table: str) -> Mapping[str, object]:
        return cast("Mapping[str, Any]", self.values if not table else self.values.get(table, {}))

    def _number(self, table: str, key: str, default: float | None = None) -> float:
        value = self._table(table).get(key, default)
        if value is None:
            raise self._missing(table, key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST:
            where = self._place(table, key)
            expected = f"a number above 0, at most {_MOST:g}"
            raise ShardyError.unexpected(key, expected=expected, got=shortened(value), where=where)
        return value

    def _text(self, table: str, key: str, known: Hardware | None, attribute: str = "") -> Any:
        value = self._table(table).get(key, getattr(known, attribute or key, None))
        if value is None:
            raise self._missing(table, key)
        if not isinstance(value, str):
            where = self._place(table, key)
            raise ShardyError.unexpected(key, expected="text", got=shortened(value), where=where)
        return value

    def _check_keys(self) -> None:
        for key, value in self.values.items():
            if key not in (*_TOP, *_TABLES):
                raise ShardyError.unknown("key", key, (*_TOP, *_TABLES), where=self._place("", key))
            if key in _TABLES:
                if not isinstance(value, dict):
                    where = self._place("", key)
                    raise ShardyError.unexpected(key, expected="a table", got=shortened(value), where=where)
                for inner in cast("Mapping[str, Any]", value):
                    if _TABLES[key] and inner not in _TABLES[key]:
                        where = self._place(key, inner)
                        raise ShardyError.unknown("key", inner, _TABLES[key], what=f"[{key}]", where=where)

    def _missing(self, table: str, key: str) -> ShardyError:
        where = self._place("", table) if table in self.values else Position(self.file, 1, 1)
        what = f"[{table}] lacks '{key}'" if table else f"'{key}' is missing"
        return ShardyError(replace(ShardyError(f"{what}; add it, or a base").first, where=where))

    def _place(self, table: str, key: str) -> Position:
        """The line of a key, or of the head of a table."""
        inside = ""
        for number, line in enumerate(self.text.splitlines(), 1):
            head = re.match(r"\s*\[\s*([\w.-]+)\s*\]", line)
            if head:
                inside = head[1]
                if not table and inside == key:
                    return Position(self.file, number, line.index("[") + 1)
            found = re.match(r'\s*"?([\w.-]+)"?\s*=', line)
            if found and found[1] == key and inside == table:
                return Position(self.file, number, line.index(key) + 1)
        return Position(self.file, 1, 1)
