"""Tables of the syntax of sdy's attributes: `#sdy.name<...>` and `#sdy<name...>`; the enums of ops.

The formats are in `syntax_sharding.py` and `syntax_rule.py`; `formats.py` has their engine.

>>> from shardy_py.mlir.dialects.sdy.attributes import AxisRefAttr
>>> from shardy_py.sharding import AxisRef
>>> ENCLOSED["axis_ref"].write(AxisRefAttr(AxisRef("x")))
'"x"'
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.sdy import syntax_rule as rule
from shardy_py.mlir.dialects.sdy import syntax_sharding as sharding
from shardy_py.mlir.dialects.sdy.formats import table
from shardy_py.mlir.text.assembly import Spelling
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.ops import REDUCTIONS

__all__ = ["ATTRIBUTES", "DIRECTION", "ENCLOSED", "PROPAGATION_DIRECTIONS", "REDUCTION"]

PROPAGATION_DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")
_I32 = IntegerType(32)

ATTRIBUTES = table(sharding.MESH, sharding.SHARDING, sharding.PER_VALUE, rule.RULE, sharding.EDGES)
"""`#sdy.name<...>` by name."""

ENCLOSED = table(
    *(sharding.MESH_AXIS, sharding.SUB_AXIS, sharding.AXIS_REF, sharding.AXES, sharding.MANUAL_AXES),
    *(sharding.DIMENSION, rule.DIM_MAPPING, rule.TENSOR_MAPPING, sharding.AXIS_LISTS),
    *(sharding.ALL_TO_ALL_PARAM, sharding.ALL_TO_ALL),
    *(sharding.EDGE_VALUE, sharding.AXIS_EDGE, sharding.STEP),
)
"""`#sdy<name...>` by name."""


def _enum_spelling(keywords: tuple[str, ...], name: str) -> Spelling:
    """The spelling of the enum that an op has as attribute `name`; a string is read like the keyword."""

    def read(cursor: Cursor) -> Attribute:
        start = cursor.offset
        is_string = cursor.token[:1] == '"'
        if not is_string and cursor.token not in keywords:
            cursor.form_error(
                "expected string or keyword containing one of the following enum values for attribute "
                f"'{name}' [{', '.join(keywords)}]"
            )
        word = cursor.string() if is_string else cursor.advance()
        if word not in keywords:
            cursor.form_error(f'invalid {name} attribute specification: "{word}"', start)
        return IntegerAttr(keywords.index(word), _I32)

    def write(attribute: IntegerAttr) -> str:
        return keywords[attribute.value.data]

    return Spelling(read, write)


DIRECTION = _enum_spelling(PROPAGATION_DIRECTIONS, "allowed_direction")
REDUCTION = _enum_spelling(REDUCTIONS, "reduction_op")
