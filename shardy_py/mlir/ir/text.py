"""Private parts of xDSL's parser and printer."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

if TYPE_CHECKING:
    from xdsl.parser import AttrParser
    from xdsl.printer import Printer


def resume_parser(parser: AttrParser, offset: int) -> None:
    """Makes the token at or behind `offset` the parser's current one."""
    parser._resume_from(offset)


def printed_names(printer: Printer) -> dict[SSAValue, str]:
    """Returns the names that a printer has assigned so far, without `%`."""
    return printer._ssa_values
