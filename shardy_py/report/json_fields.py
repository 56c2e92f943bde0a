"""The fields of report values for JSON: shardings as text, sizes, costs and types among the other fields.

>>> from shardy_py.report.sizes import TensorSize
>>> json_fields(TensorSize((8, 2), TensorBytes(64, 64, 64), "none"))["padded_bytes"]
64
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from shardy_py.ops.record import TensorType
from shardy_py.partition.cost import Cost
from shardy_py.report.sizes import TensorBytes
from shardy_py.sharding import TensorSharding

_MERGED: dict[type, Callable[[Any], dict[str, Any]]] = {
    Cost: asdict,
    TensorBytes: asdict,
    TensorType: lambda type_: {"shape": list(type_.shape), "element_type": type_.element},
}


def json_fields(value: Any, *names: str) -> dict[str, Any]:
    """Returns the fields of a dataclass in order, or those of these names, as JSON values."""
    found: dict[str, Any] = {}
    for name in names or (field.name for field in fields(value)):
        item = getattr(value, name)
        if type(item) in _MERGED:
            found |= _MERGED[type(item)](item)
        else:
            found[name] = str(item) if isinstance(item, TensorSharding) else item
    return found
