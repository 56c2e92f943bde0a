"""The interface that assembly forms print through, for our printer (`writer.py`) and xDSL's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from shardy_py.mlir.text.attribute_writer import (
    attribute_text,
    dictionary_entries,
    function_type_text,
    spelled_out,
)

INCOMPLETE = (KeyError, IndexError, AttributeError, ValueError)
"""The errors of an assembly form on an op with too few or too many parts."""


def is_valid(op: Operation) -> bool:
    """True if an op satisfies its verifier, and so must print in its own form."""
    try:
        op.verify_()
    except VerifyException:
        return False
    return True


class OpWriter(ABC):
    """Writes the text behind an op's name.

    pieces: the text so far.
    indent: white space before the lines of the current block.
    is_collecting: whether this run is for the aliases only: attributes come in the order in which MLIR meets
        them when it collects aliases, the text is thrown away.
    """

    def __init__(self, *, debuginfo: bool) -> None:
        self.pieces: list[str] = []
        self.indent = ""
        self.debuginfo = debuginfo
        self.is_collecting = False

    def write(self, text: str) -> None:
        """Writes text as it is."""
        self.pieces.append(text)

    @abstractmethod
    def operand(self, value: SSAValue) -> None:
        """Writes the name of a value."""

    def operands(self, values: Iterable[SSAValue]) -> None:
        """Writes names of values, separated by commas."""
        for index, value in enumerate(values):
            if index:
                self.pieces.append(", ")
            self.operand(value)

    def types(self, values: Iterable[SSAValue]) -> None:
        """Writes the types of values, separated by commas."""
        self.pieces.append(", ".join([attribute_text(value.type) for value in values]))

    def attribute(self, attribute: Attribute) -> None:
        """Writes an attribute or type."""
        self.pieces.append(attribute_text(attribute))

    def function_type(self, op: Operation) -> None:
        """Writes `(operand types) -> result types`."""
        self.pieces.append(
            function_type_text(
                [attribute_text(v.type) for v in op.operands], [attribute_text(r.type) for r in op.results]
            )
        )

    def attribute_dictionary(self, op: Operation, elided: Iterable[str] = (), *, keyword: str = "") -> None:
        """Writes ` {name = value, ...}` of all attributes but the `elided`; nothing if none is left."""
        shown = {**op.properties, **op.attributes}
        for name in elided:
            shown.pop(name, None)
        shown.pop("op_name__", None)
        if shown:
            self.pieces.append(f"{keyword} {{{dictionary_entries(shown)}}}")

    @abstractmethod
    def region(
        self,
        region: Region,
        *,
        default_dialect: str | None = None,
        hide_arguments: bool = False,
        label_empty: bool = False,
        hide_terminators: bool = False,
    ) -> None:
        """Writes `{ ... }` over several lines.

        hide_arguments: the op has written the arguments of the entry block itself.
        label_empty: an entry block without ops gets its label.
        hide_terminators: the last op of each block is left out.
        """

    def argument(self, argument: BlockArgument) -> None:
        """Writes `%name: type` of a region's argument."""
        self.operand(argument)
        self.pieces.append(f": {attribute_text(argument.type)}")
        self.argument_location(argument.location)

    def argument_location(self, location: Attribute) -> None:
        """Writes ` loc(...)` of an argument, spelled out, if locations are printed."""
        if self.debuginfo:
            if self.is_collecting:
                attribute_text(location)
            else:
                self.pieces.append(" " + spelled_out(location))
