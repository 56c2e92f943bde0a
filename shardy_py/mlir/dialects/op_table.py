"""The ops of a dialect: rows in, classes and syntax out, each made when first requested.

A program uses a few dozen of a dialect's ops, and a class costs a tenth of a millisecond.

>>> table = OpTable("demo", [OpRow("iota")])
>>> table.op_class("iota").name, table.syntax("demo.scan")
('demo.iota', None)

Not here: the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from xdsl.ir import Dialect, Operation

from shardy_py.mlir.dialects.definition import OpRow, make_class
from shardy_py.mlir.dialects.template import Template, compile_template
from shardy_py.mlir.text.assembly import Element
from shardy_py.mlir.text.syntax import AttributeSyntax, OpSyntax


class OpTable:
    """The ops of a dialect by name.

    elements: parts of templates besides operands and attributes of the op: `$ranges`.
    """

    def __init__(
        self, dialect: str, rows: Iterable[OpRow], elements: Mapping[str, Element] | None = None
    ) -> None:
        self.rows = {row.name: row for row in rows}
        self.dialect = dialect
        self.elements = elements or {}
        self._classes: dict[str, type[Operation]] = {}
        self._syntaxes: dict[str, OpSyntax] = {}

    @cached_property
    def by_class_name(self) -> dict[str, OpRow]:
        """The rows by the names of their classes."""
        return {row.class_name: row for row in self.rows.values()}

    def op_class(self, name: str) -> type[Operation]:
        """The class of an op by its name without the dialect's."""
        class_ = self._classes.get(name)
        if class_ is None:
            class_ = self._classes[name] = make_class(self.rows[name], self.dialect)
        return class_

    def syntax(self, full_name: str) -> OpSyntax | None:
        """The syntax of an op by its full name, None if the dialect has no such op."""
        name = full_name.partition(".")[2]
        row = self.rows.get(name)
        if row is None:
            return None
        syntax = self._syntaxes.get(name)
        if syntax is None:
            form = row.form
            syntax = self._syntaxes[name] = OpSyntax(
                self.op_class(name),
                compile_template(row, form, self.elements) if isinstance(form, Template) else form,
                row.value_names,
                row.argument_names,
            )
        return syntax

    def class_named(self, class_name: str) -> type[Operation]:
        """The class of that name: the `__getattr__` of a dialect's package. Raises `AttributeError`."""
        row = self.by_class_name.get(class_name)
        if row is None:
            raise AttributeError(f"dialect '{self.dialect}' has no op class '{class_name}'")
        return self.op_class(row.name)

    def xdsl_dialect(self, *syntaxes: Mapping[str, AttributeSyntax]) -> Dialect:
        """The dialect for xDSL, with the classes of all ops and of the attributes and types of `syntaxes`."""
        classes = {syntax.attribute_class for part in syntaxes for syntax in part.values()}
        attributes = sorted(classes, key=lambda attribute_class: attribute_class.name)
        return Dialect(self.dialect, [self.op_class(name) for name in self.rows], attributes)
