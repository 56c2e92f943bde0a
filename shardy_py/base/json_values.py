"""The values of JSON, as types.

Not here: rows of plain values (`rows.py`), the documents of reports (each report's module).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""A value that `json.dumps` takes."""
JsonObject = dict[str, Json]
"""A document, or one object of it."""
