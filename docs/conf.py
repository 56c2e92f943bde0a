"""How Sphinx builds the site: `make docs` writes docs/_build/html.

Pages are Markdown; the reference is made of docstrings, which `docstrings.py` turns into what Sphinx reads.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import fields_of, to_restructured_text
from mlir_lexer import MlirLexer
from sphinx.application import Sphinx

from shardy_py import __version__

project = "shardy_py"
author = "the authors of shardy_py"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# Shown by name, or in short, where the full type is longer than what it says.
autodoc_type_aliases = {
    "ArrayLike": "ArrayLike",
    "DTypeLike": "DTypeLike",
    "Edits": "Mapping[str | Value, Sharding | P | str | None]",
}
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"


def setup(app: Sphinx) -> None:
    """Sphinx calls this: MLIR gets its colours, docstrings go through ours before Sphinx reads them."""
    app.add_lexer("mlir", MlirLexer)
    app.connect("autodoc-process-docstring", _rewrite)
    app.connect("autodoc-process-signature", _with_aliases)


def _rewrite(app: Sphinx, what: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    to_restructured_text(lines, fields_of(subject))


def _with_aliases(*event: object) -> tuple[str | None, str | None]:
    """The signature and what it gives; Sphinx spells an alias that stands in a union as its own class.

    Functions made from rows annotate by name only.
    """
    given, result = (
        part and re.sub(r"TypeAliasForwardRef\('(.*?)'\)", r"\1", str(part)) for part in event[-2:]
    )
    if event[2].startswith("shardy_py.frontends.builder."):  # type: ignore[attr-defined]
        given, result = (
            part
            and re.sub(r"(?<![\w.])RankedTensorType\b", "shardy_py.frontends.builder.RankedTensorType", part)
            for part in (given, result)
        )
    return given, result
