"""The parts of SARIF logs that all reports share: the version, files as URIs, places.

Source: "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS Standard, 2020.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from shardy_py.base.errors import Position
from shardy_py.base.json_values import JsonObject

VERSION = "2.1.0"
SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"


def file_uri(file: str) -> str:
    """Returns a file as a URI reference; relative if it is below the current directory."""
    path = Path(file)
    if not path.is_absolute():
        return quote(path.as_posix(), errors="surrogateescape")
    try:
        return quote(path.relative_to(Path.cwd()).as_posix(), errors="surrogateescape")
    except ValueError:
        return path.as_uri()


def physical_location(place: Position) -> JsonObject:
    """Returns a place in a file as the location of a result."""
    region = {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)}
    return {"artifactLocation": {"uri": file_uri(place.file)}, "region": region}


def sarif_log(run: JsonObject) -> JsonObject:
    """Returns a log of one run."""
    return {"$schema": SCHEMA_URI, "version": VERSION, "runs": [run]}
