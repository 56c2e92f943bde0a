# Generated from the rows of ops by `make docs`.
from collections.abc import Mapping
from typing import TypeAlias
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, DenseResourceAttr, FloatAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.text import DialectSyntax
from shardy_py.mlir.text.xdsl_hooks import PrettyOp

_Value: TypeAlias = SSAValue | Operation

OPS: OpTable
CHECK: DialectSyntax

def op_class(name: str) -> type[Operation]: ...
def xdsl_dialect() -> Dialect: ...

class ExpectAlmostEqOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    tolerance: FloatAttr[AnyFloat] | None
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        tolerance: FloatAttr[AnyFloat] | float | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ExpectAlmostEqConstOp(PrettyOp):
    lhs: SSAValue
    value: DenseIntOrFPElementsAttr | DenseResourceAttr
    tolerance: FloatAttr[AnyFloat] | None
    def __init__(
        self,
        lhs: _Value,
        *,
        value: DenseIntOrFPElementsAttr | DenseResourceAttr,
        tolerance: FloatAttr[AnyFloat] | float | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ExpectCloseOp(PrettyOp):
    actual: SSAValue
    expected: SSAValue
    max_ulp_difference: IntegerAttr[IntegerType]
    min_ulp_difference: IntegerAttr[IntegerType] | None
    def __init__(
        self,
        actual: _Value,
        expected: _Value,
        *,
        max_ulp_difference: IntegerAttr[IntegerType] | int,
        min_ulp_difference: IntegerAttr[IntegerType] | int | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ExpectEqOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ExpectEqConstOp(PrettyOp):
    lhs: SSAValue
    value: DenseIntOrFPElementsAttr | DenseResourceAttr
    def __init__(
        self,
        lhs: _Value,
        *,
        value: DenseIntOrFPElementsAttr | DenseResourceAttr,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ExpectSerializedEqOp(PrettyOp):
    expected: SSAValue
    probe_id: StringAttr
    iteration: IntegerAttr[IntegerType] | None
    def __init__(
        self,
        expected: _Value,
        *,
        probe_id: StringAttr | str,
        iteration: IntegerAttr[IntegerType] | int | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...
