# Generated from the rows of ops by `make docs`.
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, DenseResourceAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Dialect, OpResult, Operation, Region, SSAValue
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.text import DialectSyntax
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp
from shardy_py.mlir.dialects.chlo.attributes import ComparisonDirectionAttr, ComparisonTypeAttr, PrecisionAttr, RaggedDotDimensionNumbers, RaggedDotDimensionNumbersAttr

_Value: TypeAlias = SSAValue | Operation

OPS: OpTable
CHLO: DialectSyntax

def op_class(name: str) -> type[Operation]: ...
def xdsl_dialect() -> Dialect: ...

class AsinAcosKernelOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AcosOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AcoshOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AsinOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AsinhOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AtanOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AtanhOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BesselI1eOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ConjOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CoshOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SinhOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SquareOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TanOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DigammaOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ErfOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ErfInvOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ErfcOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class LgammaOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class IsInfOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class IsNegInfOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class IsPosInfOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class NextAfterOp(PrettyOp):
    x: SSAValue
    y: SSAValue
    result: OpResult
    def __init__(
        self,
        x: _Value,
        y: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class PolygammaOp(PrettyOp):
    n: SSAValue
    x: SSAValue
    result: OpResult
    def __init__(
        self,
        n: _Value,
        x: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ZetaOp(PrettyOp):
    x: SSAValue
    q: SSAValue
    result: OpResult
    def __init__(
        self,
        x: _Value,
        q: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastAddOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastMaximumOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastMinimumOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastAndOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastOrOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastXorOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastMultiplyOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastAtan2Op(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastDivideOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastNextAfterOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastPolygammaOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastPowerOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastRemainderOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastSubtractOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastShiftLeftOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastShiftRightArithmeticOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastShiftRightLogicalOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastZetaOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastComplexOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastCompareOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType] | None
    comparison_direction: ComparisonDirectionAttr
    compare_type: ComparisonTypeAttr | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        comparison_direction: ComparisonDirectionAttr | Literal["EQ", "NE", "GE", "GT", "LE", "LT"],
        compare_type: ComparisonTypeAttr | Literal["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastSelectOp(PrettyOp):
    pred: SSAValue
    on_true: SSAValue
    on_false: SSAValue
    result: OpResult
    def __init__(
        self,
        pred: _Value,
        on_true: _Value,
        on_false: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class MulhiOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ConstantOp(PrettyOp):
    value: DenseIntOrFPElementsAttr | DenseResourceAttr
    output: OpResult
    def __init__(
        self,
        *,
        value: DenseIntOrFPElementsAttr | DenseResourceAttr,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ConstantLikeOp(DialectOp):
    operand: SSAValue
    value: Attribute
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        value: Attribute,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RaggedDotOp(DialectOp):
    lhs: SSAValue
    rhs: SSAValue
    group_sizes: SSAValue
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbersAttr
    precision_config: ArrayAttr[Attribute] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        group_sizes: _Value,
        *,
        ragged_dot_dimension_numbers: RaggedDotDimensionNumbersAttr | RaggedDotDimensionNumbers | Mapping[str, object],
        precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ScanOp(PrettyOp):
    inputs: Sequence[SSAValue]
    inits: Sequence[SSAValue]
    dimension: IntegerAttr[IntegerType]
    scan_dim_size: IntegerAttr[IntegerType] | None
    is_reverse: IntegerAttr[IntegerType] | None
    is_associative: IntegerAttr[IntegerType] | None
    outputs: Sequence[OpResult]
    carries: Sequence[OpResult]
    body: Region
    def __init__(
        self,
        inputs: Sequence[_Value],
        inits: Sequence[_Value],
        *,
        dimension: IntegerAttr[IntegerType] | int,
        scan_dim_size: IntegerAttr[IntegerType] | int | None = ...,
        is_reverse: IntegerAttr[IntegerType] | bool | None = ...,
        is_associative: IntegerAttr[IntegerType] | bool | None = ...,
        body: Region,
        result_types: Sequence[Sequence[Attribute]],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TopKOp(PrettyOp):
    operand: SSAValue
    k: IntegerAttr[IntegerType]
    is_stable: IntegerAttr[IntegerType] | None
    values: OpResult
    indices: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        k: IntegerAttr[IntegerType] | int,
        is_stable: IntegerAttr[IntegerType] | bool | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...
