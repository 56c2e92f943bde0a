"""Writes docs/passes.md from the list of passes; `make docs` runs it, a test fails when the page is stale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from shardy_py.passes import PASSES
from shardy_py.passes.options import Option
from shardy_py.passes.pipelines import PIPELINES

PAGE = Path(__file__).with_name("passes.md")


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


if __name__ == "__main__":
    PAGE.write_text(passes_page())
