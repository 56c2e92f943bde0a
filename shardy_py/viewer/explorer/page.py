"""One HTML file from the data of a page: styles, script and compressed data inside, no request to anywhere.

The Content-Security-Policy allows the script and the style of this file by their hashes, and nothing else.
Names of the program reach the page only as text inside the compressed data.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from functools import lru_cache
from html import escape
from pathlib import Path

from shardy_py.base.digests import sha256
from shardy_py.base.json_values import JsonObject
from shardy_py.report.notebook import PALETTE

_PAGE = Path(__file__).with_name("page")
_SCRIPTS = (
    "data.js",
    "layout.js",
    "draw.js",
    "overview.js",
    "pointer.js",
    "strip.js",
    "lists.js",
    "verdict.js",
    "compared.js",
    "panel.js",
    "main.js",
)


def page(document: JsonObject) -> str:
    """Returns the text of an HTML file that shows a document."""
    style, script = _asset("style.css"), _script()
    allowed = f"script-src {_hash(script)}; style-src {_hash(style)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    parts = {
        "policy": policy,
        "title": escape(str(document["title"])),
        "style": style,
        "script": script,
        "data": b64encode(zlib.compress(data.encode(), 6)).decode(),
    }
    text = _asset("page.html")
    for name, part in parts.items():
        head, _, tail = text.partition(f"{{{name}}}")
        text = f"{head}{part}{tail}"
    return text


@lru_cache(maxsize=1)
def _script() -> str:
    """The scripts as one, each statement of strictness once, with the colours of axes."""
    colours = f"const COLOURS = {json.dumps(PALETTE)};"
    return "\n".join(
        ['"use strict";', colours, *(_asset(name).replace('"use strict";\n', "") for name in _SCRIPTS)]
    )


@lru_cache(maxsize=16)
def _asset(name: str) -> str:
    return (_PAGE / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
