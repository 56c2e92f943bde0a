# Generated from the rows of ops by `make docs`.
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Dialect, OpResult, Operation, SSAValue
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.text import DialectSyntax
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp

_Value: TypeAlias = SSAValue | Operation

OPS: OpTable
INTERPRETER: DialectSyntax

def op_class(name: str) -> type[Operation]: ...
def xdsl_dialect() -> Dialect: ...

class PrintOp(PrettyOp):
    operand: SSAValue
    def __init__(
        self,
        operand: _Value,
        *,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ProbeOp(PrettyOp):
    operand: SSAValue
    probe_id: StringAttr
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        probe_id: StringAttr | str,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RunParallelOp(DialectOp):
    inputs: Sequence[SSAValue]
    infeed: ArrayAttr[Attribute] | None
    programs: ArrayAttr[Attribute]
    results_: Sequence[OpResult]
    def __init__(
        self,
        inputs: Sequence[_Value],
        *,
        infeed: ArrayAttr[Attribute] | Sequence[SymbolRefAttr | str] | None = ...,
        programs: ArrayAttr[Attribute] | Sequence[ArrayAttr[Attribute] | Sequence[SymbolRefAttr | str]],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...
