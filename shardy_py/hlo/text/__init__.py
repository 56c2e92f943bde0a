"""HLO text: a reader of modules as XLA dumps them, and their instructions as op records.

Imports `ops` and `errors` only: no xDSL, no XLA.
"""

from shardy_py.hlo.text.opcodes import OPCODES, Opcode
from shardy_py.hlo.text.reader import read_module
from shardy_py.hlo.text.record import fitting, leaf_types, record_of, row_of, tensor_type
from shardy_py.hlo.text.sources import NO_ORIGIN, Frame, Origin, SourceOrigins
from shardy_py.hlo.text.values import Computation, HloModule, Instruction, Shape

__all__ = [
    "NO_ORIGIN",
    "OPCODES",
    "Computation",
    "Frame",
    "HloModule",
    "Instruction",
    "Opcode",
    "Origin",
    "Shape",
    "SourceOrigins",
    "fitting",
    "leaf_types",
    "read_module",
    "record_of",
    "row_of",
    "tensor_type",
]
