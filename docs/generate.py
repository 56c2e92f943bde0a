"""Writes docs/passes.md and the types of `builder.ops` for `make docs`; a test fails when they are stale."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path

from shardy_py.builder import ops
from shardy_py.passes import PASSES
from shardy_py.passes.options import Option
from shardy_py.passes.pipelines import PIPELINES

PAGE = Path(__file__).with_name("passes.md")
STUB = Path(__file__).parents[1] / "shardy_py" / "builder" / "ops" / "__init__.pyi"
_STUB_HEAD = """\
# Generated from the rows of ops by `make docs`.
from collections.abc import Callable
from typing import Any

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
    """The types of `shardy_py.builder.ops`: functions written out are imported, those from rows declared."""
    written = {
        name: function.__module__
        for name, function in ops.FUNCTIONS.items()
        if not function.__module__.endswith(".elementwise")
    }
    lines = sorted(f"from {module} import {name} as {name}" for name, module in written.items())
    lines += ["from shardy_py.builder.tensor import Operand, Tensor\n"]
    lines += ["FUNCTIONS: dict[str, Callable[..., Any]]\n"]
    for name in sorted(ops.FUNCTIONS.keys() - written.keys()):
        signature = str(inspect.signature(ops.FUNCTIONS[name])).replace("'", "")
        lines.append(f'def {name}{signature}:\n    """{ops.FUNCTIONS[name].__doc__}"""\n')
    return _STUB_HEAD + "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(passes_page())
    STUB.write_text(builder_stub())
