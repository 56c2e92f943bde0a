"""Private parts of xDSL's parser and printer."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.parser import ParserState
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

if TYPE_CHECKING:
    from xdsl.parser import AttrParser
    from xdsl.printer import Printer


class _LinearLexer(MLIRLexer):
    """xDSL's lexer, whose pattern of strings takes exponential time for one without an end."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


def give_text(parser: AttrParser, text: str, file: str) -> None:
    """Makes a text what a parser reads, in time that grows with its length."""
    parser._parser_state = ParserState(_LinearLexer(Input(text, file)))


def resume_parser(parser: AttrParser, offset: int) -> None:
    """Makes the token at or behind `offset` the parser's current one."""
    parser._resume_from(offset)


def printed_names(printer: Printer) -> dict[SSAValue, str]:
    """Returns the names that a printer has assigned so far, without `%`."""
    return printer._ssa_values
