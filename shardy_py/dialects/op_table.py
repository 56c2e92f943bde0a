"""The ops of a dialect: rows in, classes and syntax out, each made when first asked for.

A program uses a few dozen of a dialect's ops, and a class costs a tenth of a millisecond.

>>> table = OpTable([OpRow("iota", results="output")], Vocabulary("demo", {}))
>>> table.op_class("iota").name, table.syntax("demo.scan")
('demo.iota', None)

Not here: the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from xdsl.ir import Operation
from xdsl.irdl import AttrConstraint

from shardy_py.dialects.definition import Described, OpRow, make_class
from shardy_py.dialects.kinds import Vocabulary
from shardy_py.dialects.template import Template, compile_template
from shardy_py.text.syntax import AssemblyForm, OpSyntax

ArgumentNames = Callable[[Operation, int], Sequence[str | None]]
ResultNames = Callable[[Any], Sequence[str | None]]


class OpTable:
    """The ops of a dialect by name.

    result_names, argument_names: hints for names of values, by the op's name without the dialect's.
    """

    def __init__(
        self,
        rows: Iterable[OpRow],
        words: Vocabulary,
        *,
        result_names: Mapping[str, ResultNames] | None = None,
        argument_names: Mapping[str, ArgumentNames] | None = None,
    ) -> None:
        self.rows = {row.name: row for row in rows}
        self.words = words
        self._result_names = result_names or {}
        self._argument_names = argument_names or {}
        self._classes: dict[str, type[Operation]] = {}
        self._syntaxes: dict[str, OpSyntax] = {}

    def op_class(self, name: str) -> type[Operation]:
        """The class of an op by its name without the dialect's."""
        made = self._classes.get(name)
        if made is None:
            made = self._classes[name] = make_class(
                self.words.dialect, self.rows[name], self._constraint, self.words.defaults.__getitem__
            )
        return made

    def syntax(self, full_name: str) -> OpSyntax | None:
        """The syntax of an op by its full name, None if the dialect has no such op."""
        name = full_name.partition(".")[2]
        row = self.rows.get(name)
        if row is None:
            return None
        made = self._syntaxes.get(name)
        if made is None:
            made = self._syntaxes[name] = OpSyntax(
                self.op_class(name),
                self._form(row),
                self._result_names.get(name) or _names_of_results(row),
                self._argument_names.get(name),
                is_isolated="isolated" in row.traits.split(),
            )
        return made

    def all_classes(self) -> list[type[Operation]]:
        """The classes of all ops."""
        return [self.op_class(name) for name in self.rows]

    def _form(self, row: OpRow) -> AssemblyForm | None:
        return compile_template(row, row.form, self.words) if isinstance(row.form, Template) else row.form

    def _constraint(self, kind: str) -> AttrConstraint | None:
        found = self.words.kinds.get(kind)
        if found is not None:
            return Described(found.description, found.accepts, found.storage)
        return self.words.types[kind]


def _names_of_results(row: OpRow) -> ResultNames | None:
    """MLIR names the results of ops that have several by what the op's definition calls them."""
    if len(row.result_slots) < 2 or not row.names_results:
        return None
    names = tuple(slot.name for slot in row.result_slots)
    return lambda op: names
