"""Facets: columns of the op table that live with the engines that read them.

    LOCAL = Facet("local form", LocalRow(), rows={"stablehlo.slice": LocalRow(form=slice_), ...})
    LOCAL.of("stablehlo.slice").form

A facet is one table of typed rows, in the module `facet.py` of its engine; an op without a row has that of
its family (`ops/spec.py`), else the default. So an engine asks about an op and names none. What several
engines read is a column of `OpSpec`. docs/design/facets.md lists the facets and their defaults.

>>> cost = Facet("cost", 1, {Family.PRODUCT: 8}, {"stablehlo.fft": 5})
>>> cost.of("stablehlo.fft"), cost.of("stablehlo.dot_general"), cost.of("mine.fft")
(5, 8, 1)
>>> cost.register("mine.fft", 6)
>>> cost.of("mine.fft")
6
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from shardy_py.base.errors import ShardyError
from shardy_py.base.plugins import claim
from shardy_py.ops.spec import Family, OpSpec
from shardy_py.ops.table import TABLE

T = TypeVar("T")


class Facet(Generic[T]):
    """The rows of one engine, by the name of the op's row: `stablehlo.custom_call@TARGET` for a target.

    A target without a row has that of `stablehlo.custom_call`.

    what: the name in messages. default: the row of ops that nothing else is said of.
    families: the rows of ops of a family. rows: of single ops.
    """

    def __init__(
        self,
        what: str,
        default: T,
        families: Mapping[Family, T] | None = None,
        rows: Mapping[str, T] | None = None,
    ) -> None:
        self.what = what
        self.default = default
        self.families: Mapping[Family, T] = families or {}
        self.rows: dict[str, T] = dict(rows or {})
        self._defaults: dict[str, tuple[OpSpec, T]] = {}
        """By the op: the row in `ops/` that its default follows from, and that."""

    def of(self, name: str) -> T:
        """Returns the row of an op."""
        row = self.rows.get(name)
        if row is not None:
            return row
        spec = TABLE.get(name)
        known = self._defaults.get(name)
        return known[1] if known is not None and known[0] is spec else self._default(name, spec)

    def _default(self, name: str, spec: OpSpec | None) -> T:
        call, _, target = name.partition("@")
        if target and call in self.rows:
            return self.rows[call]
        if spec is None:
            return self.default
        row = self.families.get(spec.kind, self.default)
        self._defaults[name] = spec, row
        return row

    def register(self, name: str, row: T, *, replaces: bool = False) -> None:
        """Adds the row of an op: one of a plugin, or of a user.

        replaces: whether it may have one, which is replaced.

        Raises:
            ShardyError: the op has a row and `replaces` is not set, or another plugin has registered one.
        """
        claim(self.what, name)
        if name in self.rows and not replaces:
            raise ShardyError.unexpected(
                f"{self.what} '{name}'",
                expected="one row",
                got="two",
                remedy="give replaces=True to replace the first",
            )
        self.rows[name] = row
