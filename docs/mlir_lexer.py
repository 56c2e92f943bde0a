"""Colours for MLIR in code blocks; Pygments has no lexer for it."""

from __future__ import annotations

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text


class MlirLexer(RegexLexer):
    """Values, symbols, attributes, types and ops of MLIR text."""

    name = "MLIR"
    aliases = ["mlir"]
    tokens = {
        "root": [
            (r"//.*", Comment.Single),
            (r'"(?:[^"\\]|\\.)*"', String),
            (r"%[\w$.-]+(?::\d+|#\d+)?", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"[#!][A-Za-z_][\w$.]*", Name.Decorator),
            (r"(?:module|func\.func|return|func\.return)\b", Keyword),
            (r"(?:tensor|loc|dense|true|false|unit)\b", Keyword.Type),
            (r"[a-z_]\w*(?:\.\w+)+", Name.Builtin),
            (r"\b(?:\d+|\?)(?:x(?:\d+|\?))*x(?=[a-z!])", Number),
            (r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", Number),
            (r"[A-Za-z_]\w*", Text),
            (r"->|[=<>:,(){}\[\]]", Operator),
            (r"\s+|.", Text),
        ]
    }
