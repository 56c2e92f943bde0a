"""StableHLO's ops, one row an op: definition, assembly form, traits, verifier, inferred results.

`mlir/dialects/definition.py` and `template.py` describe rows; `attribute_kinds.py` and `type_kinds.py` have
the kinds. An op without a form prints generically, as in C++. Rules of a verifier
run in C++'s order: the first violation is the one to report.

Not here: the forms that no template can spell (`forms.py`, `reduce_form.py`), the rules (`verify/`).
"""

from shardy_py.mlir.dialects.stablehlo.rows.collectives import COLLECTIVES
from shardy_py.mlir.dialects.stablehlo.rows.contraction import CONTRACTION
from shardy_py.mlir.dialects.stablehlo.rows.control import CONTROL
from shardy_py.mlir.dialects.stablehlo.rows.elementwise import ELEMENTWISE
from shardy_py.mlir.dialects.stablehlo.rows.movement import MOVEMENT
from shardy_py.mlir.dialects.stablehlo.rows.reduction import REDUCTION

ROWS = (*ELEMENTWISE, *MOVEMENT, *CONTRACTION, *REDUCTION, *COLLECTIVES, *CONTROL)
"""The rows."""

__all__ = ["ROWS"]
