# Generated from the rows of ops by `make docs`.
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, DenseResourceAttr, DictionaryAttr, FloatAttr, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Dialect, OpResult, Operation, Region, SSAValue
from shardy_py.mlir.dialects.encoding import PlainValue
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.text import DialectSyntax
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp
from shardy_py.mlir.dialects.stablehlo.attributes import ChannelHandleAttr, ComparisonDirectionAttr, ComparisonTypeAttr, ConvDimensionNumbersAttr, DotAlgorithmAttr, DotDimensionNumbersAttr, FftTypeAttr, GatherDimensionNumbersAttr, PrecisionAttr, ReplicaGroupMeshAxesAttr, ResultAccuracyAttr, RngAlgorithmAttr, RngDistributionAttr, ScatterDimensionNumbersAttr, TransposeAttr
from shardy_py.mlir.dialects.stablehlo.structs import ChannelHandle, ConvDimensionNumbers, DotAlgorithm, DotDimensionNumbers, GatherDimensionNumbers, ResultAccuracy, ScatterDimensionNumbers

_Value: TypeAlias = SSAValue | Operation

OPS: OpTable
QUANT: DialectSyntax
STABLEHLO: DialectSyntax

def op_class(name: str) -> type[Operation]: ...
def xdsl_dialect() -> Dialect: ...

class CbrtOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CosineOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ExponentialOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ExponentialMinusOneOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class LogOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class LogPlusOneOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class LogisticOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RsqrtOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SineOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SqrtOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TanOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TanhOp(PrettyOp):
    operand: SSAValue
    result_accuracy: ResultAccuracyAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CeilOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class FloorOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RoundNearestAfzOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RoundNearestEvenOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CountLeadingZerosOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class PopcntOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class NegateOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class NotOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SignOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AbsOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ImagOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RealOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ConvertOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class UniformDequantizeOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class UniformQuantizeOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AndOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class OrOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class XorOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class MaximumOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class MinimumOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class MultiplyOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DivideOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class PowerOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RemainderOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SubtractOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ShiftLeftOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ShiftRightArithmeticOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ShiftRightLogicalOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class Atan2Op(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class IsFiniteOp(PrettyOp):
    x: SSAValue
    y: OpResult
    def __init__(
        self,
        x: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AddOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ComplexOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ClampOp(PrettyOp):
    min: SSAValue
    operand: SSAValue
    max: SSAValue
    result: OpResult
    def __init__(
        self,
        min: _Value,
        operand: _Value,
        max: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CompareOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    comparison_direction: ComparisonDirectionAttr
    compare_type: ComparisonTypeAttr | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        comparison_direction: ComparisonDirectionAttr | Literal["EQ", "NE", "GE", "GT", "LE", "LT"],
        compare_type: ComparisonTypeAttr | Literal["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReducePrecisionOp(PrettyOp):
    operand: SSAValue
    exponent_bits: IntegerAttr[IntegerType]
    mantissa_bits: IntegerAttr[IntegerType]
    output: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        exponent_bits: IntegerAttr[IntegerType] | int,
        mantissa_bits: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SelectOp(PrettyOp):
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

class BitcastConvertOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastOp(PrettyOp):
    operand: SSAValue
    broadcast_sizes: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        broadcast_sizes: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BroadcastInDimOp(PrettyOp):
    operand: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ConcatenateOp(PrettyOp):
    inputs: Sequence[SSAValue]
    dimension: IntegerAttr[IntegerType]
    result: OpResult
    def __init__(
        self,
        inputs: Sequence[_Value],
        *,
        dimension: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
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

class DynamicSliceOp(PrettyOp):
    operand: SSAValue
    start_indices: Sequence[SSAValue]
    slice_sizes: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        start_indices: Sequence[_Value],
        *,
        slice_sizes: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DynamicUpdateSliceOp(PrettyOp):
    operand: SSAValue
    update: SSAValue
    start_indices: Sequence[SSAValue]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        update: _Value,
        start_indices: Sequence[_Value],
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class GatherOp(DialectOp):
    operand: SSAValue
    start_indices: SSAValue
    dimension_numbers: GatherDimensionNumbersAttr
    slice_sizes: DenseArrayBase[IntegerType]
    indices_are_sorted: IntegerAttr[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        start_indices: _Value,
        *,
        dimension_numbers: GatherDimensionNumbersAttr | GatherDimensionNumbers | Mapping[str, object],
        slice_sizes: DenseArrayBase[IntegerType] | Sequence[int],
        indices_are_sorted: IntegerAttr[IntegerType] | bool | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class GetDimensionSizeOp(PrettyOp):
    operand: SSAValue
    dimension: IntegerAttr[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        dimension: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class IotaOp(PrettyOp):
    iota_dimension: IntegerAttr[IntegerType]
    output: OpResult
    def __init__(
        self,
        *,
        iota_dimension: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class PadOp(PrettyOp):
    operand: SSAValue
    padding_value: SSAValue
    edge_padding_low: DenseArrayBase[IntegerType]
    edge_padding_high: DenseArrayBase[IntegerType]
    interior_padding: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        padding_value: _Value,
        *,
        edge_padding_low: DenseArrayBase[IntegerType] | Sequence[int],
        edge_padding_high: DenseArrayBase[IntegerType] | Sequence[int],
        interior_padding: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReshapeOp(PrettyOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReverseOp(PrettyOp):
    operand: SSAValue
    dimensions: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        dimensions: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ScatterOp(DialectOp):
    inputs: Sequence[SSAValue]
    scatter_indices: SSAValue
    updates: Sequence[SSAValue]
    scatter_dimension_numbers: ScatterDimensionNumbersAttr
    indices_are_sorted: IntegerAttr[IntegerType] | None
    unique_indices: IntegerAttr[IntegerType] | None
    results_: Sequence[OpResult]
    update_computation: Region
    def __init__(
        self,
        inputs: Sequence[_Value],
        scatter_indices: _Value,
        updates: Sequence[_Value],
        *,
        scatter_dimension_numbers: ScatterDimensionNumbersAttr | ScatterDimensionNumbers | Mapping[str, object],
        indices_are_sorted: IntegerAttr[IntegerType] | bool | None = ...,
        unique_indices: IntegerAttr[IntegerType] | bool | None = ...,
        update_computation: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SliceOp(PrettyOp):
    operand: SSAValue
    start_indices: DenseArrayBase[IntegerType]
    limit_indices: DenseArrayBase[IntegerType]
    strides: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        start_indices: DenseArrayBase[IntegerType] | Sequence[int],
        limit_indices: DenseArrayBase[IntegerType] | Sequence[int],
        strides: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TorchIndexSelectOp(DialectOp):
    operand: SSAValue
    index: SSAValue
    dim: IntegerAttr[IntegerType]
    batch_dims: IntegerAttr[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        index: _Value,
        *,
        dim: IntegerAttr[IntegerType] | int,
        batch_dims: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TransposeOp(PrettyOp):
    operand: SSAValue
    permutation: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        permutation: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DynamicBroadcastInDimOp(PrettyOp):
    operand: SSAValue
    output_dimensions: SSAValue
    broadcast_dimensions: DenseArrayBase[IntegerType]
    known_expanding_dimensions: DenseArrayBase[IntegerType] | None
    known_nonexpanding_dimensions: DenseArrayBase[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        output_dimensions: _Value,
        *,
        broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int],
        known_expanding_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        known_nonexpanding_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DynamicGatherOp(DialectOp):
    operand: SSAValue
    start_indices: SSAValue
    slice_sizes: SSAValue
    dimension_numbers: GatherDimensionNumbersAttr
    indices_are_sorted: IntegerAttr[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        start_indices: _Value,
        slice_sizes: _Value,
        *,
        dimension_numbers: GatherDimensionNumbersAttr | GatherDimensionNumbers | Mapping[str, object],
        indices_are_sorted: IntegerAttr[IntegerType] | bool | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DynamicIotaOp(PrettyOp):
    output_shape: SSAValue
    iota_dimension: IntegerAttr[IntegerType]
    result: OpResult
    def __init__(
        self,
        output_shape: _Value,
        *,
        iota_dimension: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DynamicPadOp(PrettyOp):
    operand: SSAValue
    padding_value: SSAValue
    edge_padding_low: SSAValue
    edge_padding_high: SSAValue
    interior_padding: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        padding_value: _Value,
        edge_padding_low: _Value,
        edge_padding_high: _Value,
        interior_padding: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DynamicReshapeOp(PrettyOp):
    operand: SSAValue
    output_shape: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        output_shape: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RealDynamicSliceOp(PrettyOp):
    operand: SSAValue
    start_indices: SSAValue
    limit_indices: SSAValue
    strides: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        start_indices: _Value,
        limit_indices: _Value,
        strides: _Value,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SetDimensionSizeOp(PrettyOp):
    operand: SSAValue
    size: SSAValue
    dimension: IntegerAttr[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        size: _Value,
        *,
        dimension: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CholeskyOp(PrettyOp):
    a: SSAValue
    lower: IntegerAttr[IntegerType] | None
    result: OpResult
    def __init__(
        self,
        a: _Value,
        *,
        lower: IntegerAttr[IntegerType] | bool | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ConvolutionOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    window_strides: DenseArrayBase[IntegerType] | None
    lhs_dilation: DenseArrayBase[IntegerType] | None
    rhs_dilation: DenseArrayBase[IntegerType] | None
    window_reversal: DenseArrayBase[IntegerType] | None
    padding: DenseIntOrFPElementsAttr | None
    dimension_numbers: ConvDimensionNumbersAttr
    feature_group_count: IntegerAttr[IntegerType]
    batch_group_count: IntegerAttr[IntegerType]
    precision_config: ArrayAttr[Attribute] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        lhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        rhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        window_reversal: DenseArrayBase[IntegerType] | Sequence[bool] | None = ...,
        padding: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = ...,
        dimension_numbers: ConvDimensionNumbersAttr | ConvDimensionNumbers | Mapping[str, object],
        feature_group_count: IntegerAttr[IntegerType] | int,
        batch_group_count: IntegerAttr[IntegerType] | int,
        precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DotOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    precision_config: ArrayAttr[Attribute] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DotGeneralOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    dot_dimension_numbers: DotDimensionNumbersAttr
    precision_config: ArrayAttr[Attribute] | None
    algorithm: DotAlgorithmAttr | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        dot_dimension_numbers: DotDimensionNumbersAttr | DotDimensionNumbers | Mapping[str, object],
        precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = ...,
        algorithm: DotAlgorithmAttr | DotAlgorithm | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class DynamicConvOp(DialectOp):
    lhs: SSAValue
    rhs: SSAValue
    padding: SSAValue
    window_strides: DenseArrayBase[IntegerType] | None
    lhs_dilation: DenseArrayBase[IntegerType] | None
    rhs_dilation: DenseArrayBase[IntegerType] | None
    window_reversal: DenseArrayBase[IntegerType] | None
    dimension_numbers: ConvDimensionNumbersAttr
    feature_group_count: IntegerAttr[IntegerType]
    batch_group_count: IntegerAttr[IntegerType]
    precision_config: ArrayAttr[Attribute] | None
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        padding: _Value,
        *,
        window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        lhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        rhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        window_reversal: DenseArrayBase[IntegerType] | Sequence[bool] | None = ...,
        dimension_numbers: ConvDimensionNumbersAttr | ConvDimensionNumbers | Mapping[str, object],
        feature_group_count: IntegerAttr[IntegerType] | int,
        batch_group_count: IntegerAttr[IntegerType] | int,
        precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class EinsumOp(PrettyOp):
    lhs: SSAValue
    rhs: SSAValue
    einsum_config: StringAttr
    result: OpResult
    def __init__(
        self,
        lhs: _Value,
        rhs: _Value,
        *,
        einsum_config: StringAttr | str,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class FftOp(PrettyOp):
    operand: SSAValue
    fft_type: FftTypeAttr
    fft_length: DenseArrayBase[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        fft_type: FftTypeAttr | Literal["FFT", "IFFT", "RFFT", "IRFFT"],
        fft_length: DenseArrayBase[IntegerType] | Sequence[int],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TriangularSolveOp(DialectOp):
    a: SSAValue
    b: SSAValue
    left_side: IntegerAttr[IntegerType]
    lower: IntegerAttr[IntegerType]
    unit_diagonal: IntegerAttr[IntegerType]
    transpose_a: TransposeAttr
    result: OpResult
    def __init__(
        self,
        a: _Value,
        b: _Value,
        *,
        left_side: IntegerAttr[IntegerType] | bool,
        lower: IntegerAttr[IntegerType] | bool,
        unit_diagonal: IntegerAttr[IntegerType] | bool,
        transpose_a: TransposeAttr | Literal["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class UnaryEinsumOp(PrettyOp):
    operand: SSAValue
    einsum_config: StringAttr
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        einsum_config: StringAttr | str,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BatchNormGradOp(DialectOp):
    operand: SSAValue
    scale: SSAValue
    mean: SSAValue
    variance: SSAValue
    grad_output: SSAValue
    epsilon: FloatAttr[AnyFloat]
    feature_index: IntegerAttr[IntegerType]
    grad_operand: OpResult
    grad_scale: OpResult
    grad_offset: OpResult
    def __init__(
        self,
        operand: _Value,
        scale: _Value,
        mean: _Value,
        variance: _Value,
        grad_output: _Value,
        *,
        epsilon: FloatAttr[AnyFloat] | float,
        feature_index: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BatchNormInferenceOp(DialectOp):
    operand: SSAValue
    scale: SSAValue
    offset: SSAValue
    mean: SSAValue
    variance: SSAValue
    epsilon: FloatAttr[AnyFloat]
    feature_index: IntegerAttr[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        scale: _Value,
        offset: _Value,
        mean: _Value,
        variance: _Value,
        *,
        epsilon: FloatAttr[AnyFloat] | float,
        feature_index: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class BatchNormTrainingOp(DialectOp):
    operand: SSAValue
    scale: SSAValue
    offset: SSAValue
    epsilon: FloatAttr[AnyFloat]
    feature_index: IntegerAttr[IntegerType]
    output: OpResult
    batch_mean: OpResult
    batch_var: OpResult
    def __init__(
        self,
        operand: _Value,
        scale: _Value,
        offset: _Value,
        *,
        epsilon: FloatAttr[AnyFloat] | float,
        feature_index: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class MapOp(DialectOp):
    inputs: Sequence[SSAValue]
    dimensions: DenseArrayBase[IntegerType]
    result: OpResult
    computation: Region
    def __init__(
        self,
        inputs: Sequence[_Value],
        *,
        dimensions: DenseArrayBase[IntegerType] | Sequence[int],
        computation: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReduceOp(PrettyOp):
    inputs: Sequence[SSAValue]
    init_values: Sequence[SSAValue]
    dimensions: DenseArrayBase[IntegerType]
    results_: Sequence[OpResult]
    body: Region
    def __init__(
        self,
        inputs: Sequence[_Value],
        init_values: Sequence[_Value],
        *,
        dimensions: DenseArrayBase[IntegerType] | Sequence[int],
        body: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReduceWindowOp(DialectOp):
    inputs: Sequence[SSAValue]
    init_values: Sequence[SSAValue]
    window_dimensions: DenseArrayBase[IntegerType]
    window_strides: DenseArrayBase[IntegerType] | None
    base_dilations: DenseArrayBase[IntegerType] | None
    window_dilations: DenseArrayBase[IntegerType] | None
    padding: DenseIntOrFPElementsAttr | None
    results_: Sequence[OpResult]
    body: Region
    def __init__(
        self,
        inputs: Sequence[_Value],
        init_values: Sequence[_Value],
        *,
        window_dimensions: DenseArrayBase[IntegerType] | Sequence[int],
        window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        base_dilations: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        window_dilations: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        padding: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = ...,
        body: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SelectAndScatterOp(DialectOp):
    operand: SSAValue
    source: SSAValue
    init_value: SSAValue
    window_dimensions: DenseArrayBase[IntegerType] | None
    window_strides: DenseArrayBase[IntegerType] | None
    padding: DenseIntOrFPElementsAttr | None
    result: OpResult
    select: Region
    scatter: Region
    def __init__(
        self,
        operand: _Value,
        source: _Value,
        init_value: _Value,
        *,
        window_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = ...,
        padding: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = ...,
        select: Region,
        scatter: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SortOp(DialectOp):
    inputs: Sequence[SSAValue]
    dimension: IntegerAttr[IntegerType] | None
    is_stable: IntegerAttr[IntegerType] | None
    results_: Sequence[OpResult]
    comparator: Region
    def __init__(
        self,
        inputs: Sequence[_Value],
        *,
        dimension: IntegerAttr[IntegerType] | int | None = ...,
        is_stable: IntegerAttr[IntegerType] | bool | None = ...,
        comparator: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AllGatherOp(DialectOp):
    operands_: Sequence[SSAValue]
    all_gather_dim: IntegerAttr[IntegerType]
    replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
    channel_handle: ChannelHandleAttr | None
    use_global_device_ids: UnitAttr | None
    results_: Sequence[OpResult]
    def __init__(
        self,
        operands_: Sequence[_Value],
        *,
        all_gather_dim: IntegerAttr[IntegerType] | int,
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = ...,
        use_global_device_ids: UnitAttr | Literal[True] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AllReduceOp(DialectOp):
    operands_: Sequence[SSAValue]
    replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
    channel_handle: ChannelHandleAttr | None
    use_global_device_ids: UnitAttr | None
    results_: Sequence[OpResult]
    computation: Region
    def __init__(
        self,
        operands_: Sequence[_Value],
        *,
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = ...,
        use_global_device_ids: UnitAttr | Literal[True] | None = ...,
        computation: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AllToAllOp(DialectOp):
    operands_: Sequence[SSAValue]
    split_dimension: IntegerAttr[IntegerType]
    concat_dimension: IntegerAttr[IntegerType]
    split_count: IntegerAttr[IntegerType]
    replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
    channel_handle: ChannelHandleAttr | None
    results_: Sequence[OpResult]
    def __init__(
        self,
        operands_: Sequence[_Value],
        *,
        split_dimension: IntegerAttr[IntegerType] | int,
        concat_dimension: IntegerAttr[IntegerType] | int,
        split_count: IntegerAttr[IntegerType] | int,
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AsyncDoneOp(DialectOp):
    operand: SSAValue
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AsyncStartOp(DialectOp):
    operands_: Sequence[SSAValue]
    result: OpResult
    body: Region
    def __init__(
        self,
        operands_: Sequence[_Value],
        *,
        body: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CollectiveBroadcastOp(DialectOp):
    operands_: Sequence[SSAValue]
    replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
    channel_handle: ChannelHandleAttr | None
    has_dynamic_root: UnitAttr | None
    results_: Sequence[OpResult]
    def __init__(
        self,
        operands_: Sequence[_Value],
        *,
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = ...,
        has_dynamic_root: UnitAttr | Literal[True] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CollectivePermuteOp(DialectOp):
    operand: SSAValue
    source_target_pairs: DenseIntOrFPElementsAttr
    channel_handle: ChannelHandleAttr | None
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        source_target_pairs: DenseIntOrFPElementsAttr | Sequence[Sequence[int]],
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CollectiveReduceOp(DialectOp):
    operands_: Sequence[SSAValue]
    replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
    channel_handle: ChannelHandleAttr | None
    use_global_device_ids: UnitAttr | None
    has_dynamic_root: UnitAttr | None
    results_: Sequence[OpResult]
    computation: Region
    def __init__(
        self,
        operands_: Sequence[_Value],
        *,
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = ...,
        use_global_device_ids: UnitAttr | Literal[True] | None = ...,
        has_dynamic_root: UnitAttr | Literal[True] | None = ...,
        computation: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CrossReplicaSumOp(DialectOp):
    operand: SSAValue
    replica_groups: DenseIntOrFPElementsAttr
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        replica_groups: DenseIntOrFPElementsAttr | Sequence[Sequence[int]],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class PartitionIdOp(PrettyOp):
    result: OpResult
    def __init__(
        self,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReduceScatterOp(DialectOp):
    operand: SSAValue
    scatter_dimension: IntegerAttr[IntegerType]
    replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
    channel_handle: ChannelHandleAttr | None
    use_global_device_ids: UnitAttr | None
    result: OpResult
    computation: Region
    def __init__(
        self,
        operand: _Value,
        *,
        scatter_dimension: IntegerAttr[IntegerType] | int,
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = ...,
        use_global_device_ids: UnitAttr | Literal[True] | None = ...,
        computation: Region,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReplicaIdOp(PrettyOp):
    result: OpResult
    def __init__(
        self,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class InfeedOp(DialectOp):
    token: SSAValue
    infeed_config: StringAttr
    layout: ArrayAttr[Attribute] | None
    results_: Sequence[OpResult]
    def __init__(
        self,
        token: _Value,
        *,
        infeed_config: StringAttr | str,
        layout: ArrayAttr[Attribute] | Sequence[Attribute | PlainValue] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class OutfeedOp(DialectOp):
    inputs: Sequence[SSAValue]
    token: SSAValue
    outfeed_config: StringAttr
    result: OpResult
    def __init__(
        self,
        inputs: Sequence[_Value],
        token: _Value,
        *,
        outfeed_config: StringAttr | str,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RecvOp(DialectOp):
    token: SSAValue
    channel_handle: ChannelHandleAttr
    is_host_transfer: IntegerAttr[IntegerType] | None
    source_target_pairs: DenseIntOrFPElementsAttr | None
    results_: Sequence[OpResult]
    def __init__(
        self,
        token: _Value,
        *,
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object],
        is_host_transfer: IntegerAttr[IntegerType] | bool | None = ...,
        source_target_pairs: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class SendOp(DialectOp):
    inputs: Sequence[SSAValue]
    token: SSAValue
    channel_handle: ChannelHandleAttr
    is_host_transfer: IntegerAttr[IntegerType] | None
    source_target_pairs: DenseIntOrFPElementsAttr | None
    result: OpResult
    def __init__(
        self,
        inputs: Sequence[_Value],
        token: _Value,
        *,
        channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object],
        is_host_transfer: IntegerAttr[IntegerType] | bool | None = ...,
        source_target_pairs: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = ...,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class AfterAllOp(PrettyOp):
    inputs: Sequence[SSAValue]
    result: OpResult
    def __init__(
        self,
        inputs: Sequence[_Value],
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CaseOp(DialectOp):
    index: SSAValue
    results_: Sequence[OpResult]
    branches: Sequence[Region]
    def __init__(
        self,
        index: _Value,
        *,
        branches: Sequence[Region],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CompositeOp(PrettyOp):
    inputs: Sequence[SSAValue]
    name_: StringAttr
    composite_attributes: DictionaryAttr | None
    decomposition: SymbolRefAttr
    version: IntegerAttr[IntegerType] | None
    results_: Sequence[OpResult]
    composite_regions: Sequence[Region]
    def __init__(
        self,
        inputs: Sequence[_Value],
        *,
        name_: StringAttr | str,
        composite_attributes: DictionaryAttr | Mapping[str, PlainValue | Attribute] | None = ...,
        decomposition: SymbolRefAttr | str,
        version: IntegerAttr[IntegerType] | int | None = ...,
        composite_regions: Sequence[Region],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CreateTokenOp(PrettyOp):
    output: OpResult
    def __init__(
        self,
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class CustomCallOp(PrettyOp):
    inputs: Sequence[SSAValue]
    call_target_name: StringAttr
    has_side_effect: IntegerAttr[IntegerType] | None
    backend_config: StringAttr | DictionaryAttr | None
    api_version: IntegerAttr[IntegerType] | None
    called_computations: ArrayAttr[Attribute] | None
    operand_layouts: ArrayAttr[Attribute] | None
    result_layouts: ArrayAttr[Attribute] | None
    output_operand_aliases: ArrayAttr[Attribute] | None
    result_tilings: ArrayAttr[Attribute] | None
    results_: Sequence[OpResult]
    def __init__(
        self,
        inputs: Sequence[_Value],
        *,
        call_target_name: StringAttr | str,
        has_side_effect: IntegerAttr[IntegerType] | bool | None = ...,
        backend_config: StringAttr | DictionaryAttr | str | Mapping[str, PlainValue | Attribute] | None = ...,
        api_version: IntegerAttr[IntegerType] | int | None = ...,
        called_computations: ArrayAttr[Attribute] | Sequence[SymbolRefAttr | str] | None = ...,
        operand_layouts: ArrayAttr[Attribute] | None = ...,
        result_layouts: ArrayAttr[Attribute] | None = ...,
        output_operand_aliases: ArrayAttr[Attribute] | None = ...,
        result_tilings: ArrayAttr[Attribute] | None = ...,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class GetTupleElementOp(PrettyOp):
    operand: SSAValue
    index: IntegerAttr[IntegerType]
    result: OpResult
    def __init__(
        self,
        operand: _Value,
        *,
        index: IntegerAttr[IntegerType] | int,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class IfOp(DialectOp):
    pred: SSAValue
    results_: Sequence[OpResult]
    true_branch: Region
    false_branch: Region
    def __init__(
        self,
        pred: _Value,
        *,
        true_branch: Region,
        false_branch: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class OptimizationBarrierOp(PrettyOp):
    operand: Sequence[SSAValue]
    result: Sequence[OpResult]
    def __init__(
        self,
        operand: Sequence[_Value],
        *,
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class ReturnOp(PrettyOp):
    results_: Sequence[SSAValue]
    def __init__(
        self,
        results_: Sequence[_Value],
        *,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RngOp(PrettyOp):
    a: SSAValue
    b: SSAValue
    shape: SSAValue
    rng_distribution: RngDistributionAttr
    result: OpResult
    def __init__(
        self,
        a: _Value,
        b: _Value,
        shape: _Value,
        *,
        rng_distribution: RngDistributionAttr | Literal["UNIFORM", "NORMAL"],
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class RngBitGeneratorOp(PrettyOp):
    initial_state: SSAValue
    rng_algorithm: RngAlgorithmAttr
    output_state: OpResult
    output: OpResult
    def __init__(
        self,
        initial_state: _Value,
        *,
        rng_algorithm: RngAlgorithmAttr | Literal["DEFAULT", "THREE_FRY", "PHILOX"],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class TupleOp(PrettyOp):
    val: Sequence[SSAValue]
    result: OpResult
    def __init__(
        self,
        val: Sequence[_Value],
        *,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...

class WhileOp(PrettyOp):
    operand: Sequence[SSAValue]
    results_: Sequence[OpResult]
    cond: Region
    body: Region
    def __init__(
        self,
        operand: Sequence[_Value],
        *,
        cond: Region,
        body: Region,
        result_types: Sequence[Attribute] | None = ...,
        attributes: Mapping[str, Attribute] | None = ...,
    ) -> None: ...
