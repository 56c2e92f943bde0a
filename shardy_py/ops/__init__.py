"""Ops as data: the record of an op, and the table with one row an op (docs/design/ops.md).

`compute/` has what ops compute, as functions of numpy arrays, and is loaded on use. Imports
`indexing` and `sharding` only. Sharding rules are derived in `propagation/rules/`.
"""

from shardy_py.ops import custom_calls
from shardy_py.ops.collective import RAGGED
from shardy_py.ops.combiners import COMBINERS, REDUCTIONS, Combiner, Identity
from shardy_py.ops.custom_calls import CALL
from shardy_py.ops.directions import input_to_output, is_exact, output_to_input, reads_everything
from shardy_py.ops.facets import Facet
from shardy_py.ops.movement import linear_index
from shardy_py.ops.policy import BY_MAPS, DimensionRead, Policy, Relation, Treat, Treatment
from shardy_py.ops.reads import (
    Domain,
    Reads,
    coordinates,
    domain_of,
    everything,
    extents,
    integers,
    names,
    shape_of,
)
from shardy_py.ops.record import OpRecord, TensorType, matching_attributes
from shardy_py.ops.sketch import Atom, Digit, Sketch, TensorDim
from shardy_py.ops.spec import (
    Collective,
    Control,
    Family,
    Linear,
    Memory,
    OpSpec,
    Repeat,
    Role,
    RuleSource,
    Storage,
)
from shardy_py.ops.table import (
    TABLE,
    call_target,
    indexing_maps,
    is_elementwise,
    reads_of,
    register,
    row_name,
    row_of,
    work_of,
)
from shardy_py.ops.work import NO_WORK, Work

__all__ = [
    "BY_MAPS",
    "CALL",
    "COMBINERS",
    "NO_WORK",
    "RAGGED",
    "REDUCTIONS",
    "TABLE",
    "Atom",
    "Collective",
    "Combiner",
    "Control",
    "Digit",
    "DimensionRead",
    "Domain",
    "Facet",
    "Family",
    "Identity",
    "Linear",
    "Memory",
    "OpRecord",
    "OpSpec",
    "Policy",
    "Reads",
    "Relation",
    "Repeat",
    "Role",
    "RuleSource",
    "Sketch",
    "Storage",
    "TensorDim",
    "TensorType",
    "Treat",
    "Treatment",
    "Work",
    "call_target",
    "coordinates",
    "custom_calls",
    "domain_of",
    "everything",
    "extents",
    "indexing_maps",
    "input_to_output",
    "integers",
    "is_elementwise",
    "is_exact",
    "linear_index",
    "matching_attributes",
    "names",
    "output_to_input",
    "reads_everything",
    "reads_of",
    "register",
    "row_name",
    "row_of",
    "shape_of",
    "work_of",
]
