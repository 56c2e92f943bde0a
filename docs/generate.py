"""Writes docs/passes.md and the types of `builder.ops` for `make docs`; a test fails when they are stale."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from shardy_py.frontends.builder import ops
from shardy_py.passes import PASSES
from shardy_py.passes.options import Option
from shardy_py.passes.pipelines import PIPELINES

PAGE = Path(__file__).with_name("passes.md")
STUB = Path(__file__).parents[1] / "shardy_py" / "frontends" / "builder" / "ops" / "__init__.pyi"
_LINE_LENGTH = 110
_STUB_HEAD = """\
# Generated from the rows of functions and ops by `make docs`.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardy_py.frontends.builder.broadcasting import Dimensions
"""
_STUB_IMPORTS = """\
from shardy_py.frontends.builder.tensor import Operand, Tensor
from shardy_py.frontends.builder.types import RankedTensorType
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers, GatherDimensionNumbers

FUNCTIONS: dict[str, Callable[..., Any]]
"""


def passes_page() -> str:
    """The page: pipelines with their passes, then every pass with its options."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Passes\n\nGenerated from `shardy_py/passes/` by `make docs`.\n\n## Pipelines"
    for pipeline in PIPELINES:
        yield f"\n### `{pipeline.name}`\n\n{pipeline.summary}\n"
        yield from _option_lines(pipeline.options)
        yield from (f"1. `{call.row.name}`" for call in pipeline.expand())
    yield "\n## Single passes"
    for row in PASSES:
        yield f"\n### `{row.name}`\n\n{row.summary}"
        if row.options:
            yield ""
            yield from _option_lines(row.options)


def _option_lines(options: Sequence[Option]) -> Iterator[str]:
    for option in options:
        choices = f" ({', '.join(option.choices)})" if option.choices else ""
        default = option.text(option.default) or "empty"
        yield f"- `{option.name}`: {option.summary}{choices}; default: {default}"


def builder_stub() -> str:
    """The types of `frontends.builder.ops`: functions written out are imported, those from rows declared."""
    written = {name for name, function in ops.FUNCTIONS.items() if function.__module__.endswith(".written")}
    lines = [
        f"from shardy_py.frontends.builder.ops.written import {name} as {name}" for name in sorted(written)
    ]
    lines.append(_STUB_IMPORTS)
    for name in sorted(ops.FUNCTIONS.keys() - written):
        lines.append(f'{_declaration(name)}\n    """{ops.FUNCTIONS[name].__doc__}"""\n')
    return _STUB_HEAD + "\n".join(lines)


def _declaration(name: str) -> str:
    """The first line of a function; one line a parameter where that would be too long."""
    signature = inspect.signature(ops.FUNCTIONS[name])
    texts = [_unquoted(str(parameter)) for parameter in signature.parameters.values()]
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        texts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returned = signature.return_annotation
    text = f"def {name}({', '.join(texts)}) -> {returned}:"
    if len(text) <= _LINE_LENGTH:
        return text
    return f"def {name}(\n" + "".join(f"    {each},\n" for each in texts) + f") -> {returned}:"


def _unquoted(parameter: str) -> str:
    """A parameter with its annotation, and strings as ruff quotes them."""
    return re.sub(": '([^']+)'", r": \1", parameter).replace("'", '"')


if __name__ == "__main__":
    PAGE.write_text(passes_page())
    STUB.write_text(builder_stub())
