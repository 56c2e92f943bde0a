"""Declarations of the classes of stablehlo's ops, for type checkers, editors and `inspect.getsource`.

Generated from the rows of ops by `make docs`. The classes themselves are made from the rows when first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TYPE_CHECKING
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, DenseResourceAttr, DictionaryAttr, FloatAttr, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, OpResult, Operation, Region, SSAValue
from shardy_py.mlir.dialects.encoding import PlainValue
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp
from shardy_py.mlir.dialects.stablehlo.attributes import ChannelHandleAttr, ComparisonDirectionAttr, ComparisonTypeAttr, ConvDimensionNumbersAttr, DotAlgorithmAttr, DotDimensionNumbersAttr, FftTypeAttr, GatherDimensionNumbersAttr, PrecisionAttr, ReplicaGroupMeshAxesAttr, ResultAccuracyAttr, RngAlgorithmAttr, RngDistributionAttr, ScatterDimensionNumbersAttr, TransposeAttr
from shardy_py.mlir.dialects.stablehlo.structs import ChannelHandle, ConvDimensionNumbers, DotAlgorithm, DotDimensionNumbers, GatherDimensionNumbers, ResultAccuracy, ScatterDimensionNumbers

__all__ = [
    "AbsOp",
    "AddOp",
    "AfterAllOp",
    "AllGatherOp",
    "AllReduceOp",
    "AllToAllOp",
    "AndOp",
    "AsyncDoneOp",
    "AsyncStartOp",
    "Atan2Op",
    "BatchNormGradOp",
    "BatchNormInferenceOp",
    "BatchNormTrainingOp",
    "BitcastConvertOp",
    "BroadcastInDimOp",
    "BroadcastOp",
    "CaseOp",
    "CbrtOp",
    "CeilOp",
    "CholeskyOp",
    "ClampOp",
    "CollectiveBroadcastOp",
    "CollectivePermuteOp",
    "CollectiveReduceOp",
    "CompareOp",
    "ComplexOp",
    "CompositeOp",
    "ConcatenateOp",
    "ConstantOp",
    "ConvertOp",
    "ConvolutionOp",
    "CosineOp",
    "CountLeadingZerosOp",
    "CreateTokenOp",
    "CrossReplicaSumOp",
    "CustomCallOp",
    "DivideOp",
    "DotGeneralOp",
    "DotOp",
    "DynamicBroadcastInDimOp",
    "DynamicConvOp",
    "DynamicGatherOp",
    "DynamicIotaOp",
    "DynamicPadOp",
    "DynamicReshapeOp",
    "DynamicSliceOp",
    "DynamicUpdateSliceOp",
    "EinsumOp",
    "ExponentialMinusOneOp",
    "ExponentialOp",
    "FftOp",
    "FloorOp",
    "GatherOp",
    "GetDimensionSizeOp",
    "GetTupleElementOp",
    "IfOp",
    "ImagOp",
    "InfeedOp",
    "IotaOp",
    "IsFiniteOp",
    "LogOp",
    "LogPlusOneOp",
    "LogisticOp",
    "MapOp",
    "MaximumOp",
    "MinimumOp",
    "MultiplyOp",
    "NegateOp",
    "NotOp",
    "OptimizationBarrierOp",
    "OrOp",
    "OutfeedOp",
    "PadOp",
    "PartitionIdOp",
    "PopcntOp",
    "PowerOp",
    "RealDynamicSliceOp",
    "RealOp",
    "RecvOp",
    "ReduceOp",
    "ReducePrecisionOp",
    "ReduceScatterOp",
    "ReduceWindowOp",
    "RemainderOp",
    "ReplicaIdOp",
    "ReshapeOp",
    "ReturnOp",
    "ReverseOp",
    "RngBitGeneratorOp",
    "RngOp",
    "RoundNearestAfzOp",
    "RoundNearestEvenOp",
    "RsqrtOp",
    "ScatterOp",
    "SelectAndScatterOp",
    "SelectOp",
    "SendOp",
    "SetDimensionSizeOp",
    "ShiftLeftOp",
    "ShiftRightArithmeticOp",
    "ShiftRightLogicalOp",
    "SignOp",
    "SineOp",
    "SliceOp",
    "SortOp",
    "SqrtOp",
    "SubtractOp",
    "TanOp",
    "TanhOp",
    "TorchIndexSelectOp",
    "TransposeOp",
    "TriangularSolveOp",
    "TupleOp",
    "UnaryEinsumOp",
    "UniformDequantizeOp",
    "UniformQuantizeOp",
    "WhileOp",
    "XorOp",
]

if TYPE_CHECKING:

    class CbrtOp(PrettyOp):
        """`stablehlo.cbrt`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CosineOp(PrettyOp):
        """`stablehlo.cosine`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ExponentialOp(PrettyOp):
        """`stablehlo.exponential`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ExponentialMinusOneOp(PrettyOp):
        """`stablehlo.exponential_minus_one`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class LogOp(PrettyOp):
        """`stablehlo.log`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class LogPlusOneOp(PrettyOp):
        """`stablehlo.log_plus_one`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class LogisticOp(PrettyOp):
        """`stablehlo.logistic`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RsqrtOp(PrettyOp):
        """`stablehlo.rsqrt`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SineOp(PrettyOp):
        """`stablehlo.sine`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SqrtOp(PrettyOp):
        """`stablehlo.sqrt`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TanOp(PrettyOp):
        """`stablehlo.tan`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TanhOp(PrettyOp):
        """`stablehlo.tanh`."""

        operand: SSAValue
        result_accuracy: ResultAccuracyAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_accuracy: ResultAccuracyAttr | ResultAccuracy | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CeilOp(PrettyOp):
        """`stablehlo.ceil`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class FloorOp(PrettyOp):
        """`stablehlo.floor`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RoundNearestAfzOp(PrettyOp):
        """`stablehlo.round_nearest_afz`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RoundNearestEvenOp(PrettyOp):
        """`stablehlo.round_nearest_even`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CountLeadingZerosOp(PrettyOp):
        """`stablehlo.count_leading_zeros`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class PopcntOp(PrettyOp):
        """`stablehlo.popcnt`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class NegateOp(PrettyOp):
        """`stablehlo.negate`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class NotOp(PrettyOp):
        """`stablehlo.not`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SignOp(PrettyOp):
        """`stablehlo.sign`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AbsOp(PrettyOp):
        """`stablehlo.abs`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ImagOp(PrettyOp):
        """`stablehlo.imag`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RealOp(PrettyOp):
        """`stablehlo.real`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ConvertOp(PrettyOp):
        """`stablehlo.convert`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class UniformDequantizeOp(PrettyOp):
        """`stablehlo.uniform_dequantize`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class UniformQuantizeOp(PrettyOp):
        """`stablehlo.uniform_quantize`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AndOp(PrettyOp):
        """`stablehlo.and`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class OrOp(PrettyOp):
        """`stablehlo.or`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class XorOp(PrettyOp):
        """`stablehlo.xor`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class MaximumOp(PrettyOp):
        """`stablehlo.maximum`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class MinimumOp(PrettyOp):
        """`stablehlo.minimum`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class MultiplyOp(PrettyOp):
        """`stablehlo.multiply`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DivideOp(PrettyOp):
        """`stablehlo.divide`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class PowerOp(PrettyOp):
        """`stablehlo.power`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RemainderOp(PrettyOp):
        """`stablehlo.remainder`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SubtractOp(PrettyOp):
        """`stablehlo.subtract`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ShiftLeftOp(PrettyOp):
        """`stablehlo.shift_left`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ShiftRightArithmeticOp(PrettyOp):
        """`stablehlo.shift_right_arithmetic`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ShiftRightLogicalOp(PrettyOp):
        """`stablehlo.shift_right_logical`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class Atan2Op(PrettyOp):
        """`stablehlo.atan2`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class IsFiniteOp(PrettyOp):
        """`stablehlo.is_finite`."""

        x: SSAValue
        y: OpResult

        def __init__(
            self,
            x: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AddOp(PrettyOp):
        """`stablehlo.add`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ComplexOp(PrettyOp):
        """`stablehlo.complex`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ClampOp(PrettyOp):
        """`stablehlo.clamp`."""

        min: SSAValue
        operand: SSAValue
        max: SSAValue
        result: OpResult

        def __init__(
            self,
            min: SSAValue | Operation,
            operand: SSAValue | Operation,
            max: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CompareOp(PrettyOp):
        """`stablehlo.compare`."""

        lhs: SSAValue
        rhs: SSAValue
        comparison_direction: ComparisonDirectionAttr
        compare_type: ComparisonTypeAttr | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            comparison_direction: ComparisonDirectionAttr | Literal["EQ", "NE", "GE", "GT", "LE", "LT"],
            compare_type: ComparisonTypeAttr | Literal["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReducePrecisionOp(PrettyOp):
        """`stablehlo.reduce_precision`."""

        operand: SSAValue
        exponent_bits: IntegerAttr[IntegerType]
        mantissa_bits: IntegerAttr[IntegerType]
        output: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            exponent_bits: IntegerAttr[IntegerType] | int,
            mantissa_bits: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SelectOp(PrettyOp):
        """`stablehlo.select`."""

        pred: SSAValue
        on_true: SSAValue
        on_false: SSAValue
        result: OpResult

        def __init__(
            self,
            pred: SSAValue | Operation,
            on_true: SSAValue | Operation,
            on_false: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BitcastConvertOp(PrettyOp):
        """`stablehlo.bitcast_convert`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastOp(PrettyOp):
        """`stablehlo.broadcast`."""

        operand: SSAValue
        broadcast_sizes: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            broadcast_sizes: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastInDimOp(PrettyOp):
        """`stablehlo.broadcast_in_dim`."""

        operand: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ConcatenateOp(PrettyOp):
        """`stablehlo.concatenate`."""

        inputs: Sequence[SSAValue]
        dimension: IntegerAttr[IntegerType]
        result: OpResult

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            *,
            dimension: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ConstantOp(PrettyOp):
        """`stablehlo.constant`."""

        value: DenseIntOrFPElementsAttr | DenseResourceAttr
        output: OpResult

        def __init__(
            self,
            *,
            value: DenseIntOrFPElementsAttr | DenseResourceAttr,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicSliceOp(PrettyOp):
        """`stablehlo.dynamic_slice`."""

        operand: SSAValue
        start_indices: Sequence[SSAValue]
        slice_sizes: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            start_indices: Sequence[SSAValue | Operation],
            *,
            slice_sizes: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicUpdateSliceOp(PrettyOp):
        """`stablehlo.dynamic_update_slice`."""

        operand: SSAValue
        update: SSAValue
        start_indices: Sequence[SSAValue]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            update: SSAValue | Operation,
            start_indices: Sequence[SSAValue | Operation],
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class GatherOp(DialectOp):
        """`stablehlo.gather`."""

        operand: SSAValue
        start_indices: SSAValue
        dimension_numbers: GatherDimensionNumbersAttr
        slice_sizes: DenseArrayBase[IntegerType]
        indices_are_sorted: IntegerAttr[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            start_indices: SSAValue | Operation,
            *,
            dimension_numbers: GatherDimensionNumbersAttr | GatherDimensionNumbers | Mapping[str, object],
            slice_sizes: DenseArrayBase[IntegerType] | Sequence[int],
            indices_are_sorted: IntegerAttr[IntegerType] | bool | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class GetDimensionSizeOp(PrettyOp):
        """`stablehlo.get_dimension_size`."""

        operand: SSAValue
        dimension: IntegerAttr[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            dimension: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class IotaOp(PrettyOp):
        """`stablehlo.iota`."""

        iota_dimension: IntegerAttr[IntegerType]
        output: OpResult

        def __init__(
            self,
            *,
            iota_dimension: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class PadOp(PrettyOp):
        """`stablehlo.pad`."""

        operand: SSAValue
        padding_value: SSAValue
        edge_padding_low: DenseArrayBase[IntegerType]
        edge_padding_high: DenseArrayBase[IntegerType]
        interior_padding: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            padding_value: SSAValue | Operation,
            *,
            edge_padding_low: DenseArrayBase[IntegerType] | Sequence[int],
            edge_padding_high: DenseArrayBase[IntegerType] | Sequence[int],
            interior_padding: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReshapeOp(PrettyOp):
        """`stablehlo.reshape`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReverseOp(PrettyOp):
        """`stablehlo.reverse`."""

        operand: SSAValue
        dimensions: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            dimensions: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ScatterOp(DialectOp):
        """`stablehlo.scatter`."""

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
            inputs: Sequence[SSAValue | Operation],
            scatter_indices: SSAValue | Operation,
            updates: Sequence[SSAValue | Operation],
            *,
            scatter_dimension_numbers: ScatterDimensionNumbersAttr | ScatterDimensionNumbers | Mapping[str, object],
            indices_are_sorted: IntegerAttr[IntegerType] | bool | None = None,
            unique_indices: IntegerAttr[IntegerType] | bool | None = None,
            update_computation: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SliceOp(PrettyOp):
        """`stablehlo.slice`."""

        operand: SSAValue
        start_indices: DenseArrayBase[IntegerType]
        limit_indices: DenseArrayBase[IntegerType]
        strides: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            start_indices: DenseArrayBase[IntegerType] | Sequence[int],
            limit_indices: DenseArrayBase[IntegerType] | Sequence[int],
            strides: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TorchIndexSelectOp(DialectOp):
        """`stablehlo.torch_index_select`."""

        operand: SSAValue
        index: SSAValue
        dim: IntegerAttr[IntegerType]
        batch_dims: IntegerAttr[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            index: SSAValue | Operation,
            *,
            dim: IntegerAttr[IntegerType] | int,
            batch_dims: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TransposeOp(PrettyOp):
        """`stablehlo.transpose`."""

        operand: SSAValue
        permutation: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            permutation: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicBroadcastInDimOp(PrettyOp):
        """`stablehlo.dynamic_broadcast_in_dim`."""

        operand: SSAValue
        output_dimensions: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType]
        known_expanding_dimensions: DenseArrayBase[IntegerType] | None
        known_nonexpanding_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            output_dimensions: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int],
            known_expanding_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            known_nonexpanding_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicGatherOp(DialectOp):
        """`stablehlo.dynamic_gather`."""

        operand: SSAValue
        start_indices: SSAValue
        slice_sizes: SSAValue
        dimension_numbers: GatherDimensionNumbersAttr
        indices_are_sorted: IntegerAttr[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            start_indices: SSAValue | Operation,
            slice_sizes: SSAValue | Operation,
            *,
            dimension_numbers: GatherDimensionNumbersAttr | GatherDimensionNumbers | Mapping[str, object],
            indices_are_sorted: IntegerAttr[IntegerType] | bool | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicIotaOp(PrettyOp):
        """`stablehlo.dynamic_iota`."""

        output_shape: SSAValue
        iota_dimension: IntegerAttr[IntegerType]
        result: OpResult

        def __init__(
            self,
            output_shape: SSAValue | Operation,
            *,
            iota_dimension: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicPadOp(PrettyOp):
        """`stablehlo.dynamic_pad`."""

        operand: SSAValue
        padding_value: SSAValue
        edge_padding_low: SSAValue
        edge_padding_high: SSAValue
        interior_padding: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            padding_value: SSAValue | Operation,
            edge_padding_low: SSAValue | Operation,
            edge_padding_high: SSAValue | Operation,
            interior_padding: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicReshapeOp(PrettyOp):
        """`stablehlo.dynamic_reshape`."""

        operand: SSAValue
        output_shape: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            output_shape: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RealDynamicSliceOp(PrettyOp):
        """`stablehlo.real_dynamic_slice`."""

        operand: SSAValue
        start_indices: SSAValue
        limit_indices: SSAValue
        strides: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            start_indices: SSAValue | Operation,
            limit_indices: SSAValue | Operation,
            strides: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SetDimensionSizeOp(PrettyOp):
        """`stablehlo.set_dimension_size`."""

        operand: SSAValue
        size: SSAValue
        dimension: IntegerAttr[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            size: SSAValue | Operation,
            *,
            dimension: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CholeskyOp(PrettyOp):
        """`stablehlo.cholesky`."""

        a: SSAValue
        lower: IntegerAttr[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            a: SSAValue | Operation,
            *,
            lower: IntegerAttr[IntegerType] | bool | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ConvolutionOp(PrettyOp):
        """`stablehlo.convolution`."""

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
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            lhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            rhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            window_reversal: DenseArrayBase[IntegerType] | Sequence[bool] | None = None,
            padding: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = None,
            dimension_numbers: ConvDimensionNumbersAttr | ConvDimensionNumbers | Mapping[str, object],
            feature_group_count: IntegerAttr[IntegerType] | int,
            batch_group_count: IntegerAttr[IntegerType] | int,
            precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DotOp(PrettyOp):
        """`stablehlo.dot`."""

        lhs: SSAValue
        rhs: SSAValue
        precision_config: ArrayAttr[Attribute] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DotGeneralOp(PrettyOp):
        """`stablehlo.dot_general`."""

        lhs: SSAValue
        rhs: SSAValue
        dot_dimension_numbers: DotDimensionNumbersAttr
        precision_config: ArrayAttr[Attribute] | None
        algorithm: DotAlgorithmAttr | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            dot_dimension_numbers: DotDimensionNumbersAttr | DotDimensionNumbers | Mapping[str, object],
            precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = None,
            algorithm: DotAlgorithmAttr | DotAlgorithm | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DynamicConvOp(DialectOp):
        """`stablehlo.dynamic_conv`."""

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
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            padding: SSAValue | Operation,
            *,
            window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            lhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            rhs_dilation: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            window_reversal: DenseArrayBase[IntegerType] | Sequence[bool] | None = None,
            dimension_numbers: ConvDimensionNumbersAttr | ConvDimensionNumbers | Mapping[str, object],
            feature_group_count: IntegerAttr[IntegerType] | int,
            batch_group_count: IntegerAttr[IntegerType] | int,
            precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class EinsumOp(PrettyOp):
        """`stablehlo.einsum`."""

        lhs: SSAValue
        rhs: SSAValue
        einsum_config: StringAttr
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            einsum_config: StringAttr | str,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class FftOp(PrettyOp):
        """`stablehlo.fft`."""

        operand: SSAValue
        fft_type: FftTypeAttr
        fft_length: DenseArrayBase[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            fft_type: FftTypeAttr | Literal["FFT", "IFFT", "RFFT", "IRFFT"],
            fft_length: DenseArrayBase[IntegerType] | Sequence[int],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TriangularSolveOp(DialectOp):
        """`stablehlo.triangular_solve`."""

        a: SSAValue
        b: SSAValue
        left_side: IntegerAttr[IntegerType]
        lower: IntegerAttr[IntegerType]
        unit_diagonal: IntegerAttr[IntegerType]
        transpose_a: TransposeAttr
        result: OpResult

        def __init__(
            self,
            a: SSAValue | Operation,
            b: SSAValue | Operation,
            *,
            left_side: IntegerAttr[IntegerType] | bool,
            lower: IntegerAttr[IntegerType] | bool,
            unit_diagonal: IntegerAttr[IntegerType] | bool,
            transpose_a: TransposeAttr | Literal["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class UnaryEinsumOp(PrettyOp):
        """`stablehlo.unary_einsum`."""

        operand: SSAValue
        einsum_config: StringAttr
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            einsum_config: StringAttr | str,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BatchNormGradOp(DialectOp):
        """`stablehlo.batch_norm_grad`."""

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
            operand: SSAValue | Operation,
            scale: SSAValue | Operation,
            mean: SSAValue | Operation,
            variance: SSAValue | Operation,
            grad_output: SSAValue | Operation,
            *,
            epsilon: FloatAttr[AnyFloat] | float,
            feature_index: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BatchNormInferenceOp(DialectOp):
        """`stablehlo.batch_norm_inference`."""

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
            operand: SSAValue | Operation,
            scale: SSAValue | Operation,
            offset: SSAValue | Operation,
            mean: SSAValue | Operation,
            variance: SSAValue | Operation,
            *,
            epsilon: FloatAttr[AnyFloat] | float,
            feature_index: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BatchNormTrainingOp(DialectOp):
        """`stablehlo.batch_norm_training`."""

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
            operand: SSAValue | Operation,
            scale: SSAValue | Operation,
            offset: SSAValue | Operation,
            *,
            epsilon: FloatAttr[AnyFloat] | float,
            feature_index: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class MapOp(DialectOp):
        """`stablehlo.map`."""

        inputs: Sequence[SSAValue]
        dimensions: DenseArrayBase[IntegerType]
        result: OpResult
        computation: Region

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            *,
            dimensions: DenseArrayBase[IntegerType] | Sequence[int],
            computation: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReduceOp(PrettyOp):
        """`stablehlo.reduce`."""

        inputs: Sequence[SSAValue]
        init_values: Sequence[SSAValue]
        dimensions: DenseArrayBase[IntegerType]
        results_: Sequence[OpResult]
        body: Region

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            init_values: Sequence[SSAValue | Operation],
            *,
            dimensions: DenseArrayBase[IntegerType] | Sequence[int],
            body: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReduceWindowOp(DialectOp):
        """`stablehlo.reduce_window`."""

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
            inputs: Sequence[SSAValue | Operation],
            init_values: Sequence[SSAValue | Operation],
            *,
            window_dimensions: DenseArrayBase[IntegerType] | Sequence[int],
            window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            base_dilations: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            window_dilations: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            padding: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = None,
            body: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SelectAndScatterOp(DialectOp):
        """`stablehlo.select_and_scatter`."""

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
            operand: SSAValue | Operation,
            source: SSAValue | Operation,
            init_value: SSAValue | Operation,
            *,
            window_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            window_strides: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            padding: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = None,
            select: Region,
            scatter: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SortOp(DialectOp):
        """`stablehlo.sort`."""

        inputs: Sequence[SSAValue]
        dimension: IntegerAttr[IntegerType] | None
        is_stable: IntegerAttr[IntegerType] | None
        results_: Sequence[OpResult]
        comparator: Region

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            *,
            dimension: IntegerAttr[IntegerType] | int | None = None,
            is_stable: IntegerAttr[IntegerType] | bool | None = None,
            comparator: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AllGatherOp(DialectOp):
        """`stablehlo.all_gather`."""

        operands_: Sequence[SSAValue]
        all_gather_dim: IntegerAttr[IntegerType]
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
        channel_handle: ChannelHandleAttr | None
        use_global_device_ids: UnitAttr | None
        results_: Sequence[OpResult]

        def __init__(
            self,
            operands_: Sequence[SSAValue | Operation],
            *,
            all_gather_dim: IntegerAttr[IntegerType] | int,
            replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = None,
            use_global_device_ids: UnitAttr | Literal[True] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AllReduceOp(DialectOp):
        """`stablehlo.all_reduce`."""

        operands_: Sequence[SSAValue]
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
        channel_handle: ChannelHandleAttr | None
        use_global_device_ids: UnitAttr | None
        results_: Sequence[OpResult]
        computation: Region

        def __init__(
            self,
            operands_: Sequence[SSAValue | Operation],
            *,
            replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = None,
            use_global_device_ids: UnitAttr | Literal[True] | None = None,
            computation: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AllToAllOp(DialectOp):
        """`stablehlo.all_to_all`."""

        operands_: Sequence[SSAValue]
        split_dimension: IntegerAttr[IntegerType]
        concat_dimension: IntegerAttr[IntegerType]
        split_count: IntegerAttr[IntegerType]
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
        channel_handle: ChannelHandleAttr | None
        results_: Sequence[OpResult]

        def __init__(
            self,
            operands_: Sequence[SSAValue | Operation],
            *,
            split_dimension: IntegerAttr[IntegerType] | int,
            concat_dimension: IntegerAttr[IntegerType] | int,
            split_count: IntegerAttr[IntegerType] | int,
            replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AsyncDoneOp(DialectOp):
        """`stablehlo.async_done`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AsyncStartOp(DialectOp):
        """`stablehlo.async_start`."""

        operands_: Sequence[SSAValue]
        result: OpResult
        body: Region

        def __init__(
            self,
            operands_: Sequence[SSAValue | Operation],
            *,
            body: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CollectiveBroadcastOp(DialectOp):
        """`stablehlo.collective_broadcast`."""

        operands_: Sequence[SSAValue]
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
        channel_handle: ChannelHandleAttr | None
        has_dynamic_root: UnitAttr | None
        results_: Sequence[OpResult]

        def __init__(
            self,
            operands_: Sequence[SSAValue | Operation],
            *,
            replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = None,
            has_dynamic_root: UnitAttr | Literal[True] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CollectivePermuteOp(DialectOp):
        """`stablehlo.collective_permute`."""

        operand: SSAValue
        source_target_pairs: DenseIntOrFPElementsAttr
        channel_handle: ChannelHandleAttr | None
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            source_target_pairs: DenseIntOrFPElementsAttr | Sequence[Sequence[int]],
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CollectiveReduceOp(DialectOp):
        """`stablehlo.collective_reduce`."""

        operands_: Sequence[SSAValue]
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
        channel_handle: ChannelHandleAttr | None
        use_global_device_ids: UnitAttr | None
        has_dynamic_root: UnitAttr | None
        results_: Sequence[OpResult]
        computation: Region

        def __init__(
            self,
            operands_: Sequence[SSAValue | Operation],
            *,
            replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = None,
            use_global_device_ids: UnitAttr | Literal[True] | None = None,
            has_dynamic_root: UnitAttr | Literal[True] | None = None,
            computation: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CrossReplicaSumOp(DialectOp):
        """`stablehlo.cross-replica-sum`."""

        operand: SSAValue
        replica_groups: DenseIntOrFPElementsAttr
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            replica_groups: DenseIntOrFPElementsAttr | Sequence[Sequence[int]],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class PartitionIdOp(PrettyOp):
        """`stablehlo.partition_id`."""

        result: OpResult

        def __init__(
            self,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReduceScatterOp(DialectOp):
        """`stablehlo.reduce_scatter`."""

        operand: SSAValue
        scatter_dimension: IntegerAttr[IntegerType]
        replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr
        channel_handle: ChannelHandleAttr | None
        use_global_device_ids: UnitAttr | None
        result: OpResult
        computation: Region

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            scatter_dimension: IntegerAttr[IntegerType] | int,
            replica_groups: DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr | Sequence[Sequence[int]],
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object] | None = None,
            use_global_device_ids: UnitAttr | Literal[True] | None = None,
            computation: Region,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReplicaIdOp(PrettyOp):
        """`stablehlo.replica_id`."""

        result: OpResult

        def __init__(
            self,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class InfeedOp(DialectOp):
        """`stablehlo.infeed`."""

        token: SSAValue
        infeed_config: StringAttr
        layout: ArrayAttr[Attribute] | None
        results_: Sequence[OpResult]

        def __init__(
            self,
            token: SSAValue | Operation,
            *,
            infeed_config: StringAttr | str,
            layout: ArrayAttr[Attribute] | Sequence[Attribute | PlainValue] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class OutfeedOp(DialectOp):
        """`stablehlo.outfeed`."""

        inputs: Sequence[SSAValue]
        token: SSAValue
        outfeed_config: StringAttr
        result: OpResult

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            token: SSAValue | Operation,
            *,
            outfeed_config: StringAttr | str,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RecvOp(DialectOp):
        """`stablehlo.recv`."""

        token: SSAValue
        channel_handle: ChannelHandleAttr
        is_host_transfer: IntegerAttr[IntegerType] | None
        source_target_pairs: DenseIntOrFPElementsAttr | None
        results_: Sequence[OpResult]

        def __init__(
            self,
            token: SSAValue | Operation,
            *,
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object],
            is_host_transfer: IntegerAttr[IntegerType] | bool | None = None,
            source_target_pairs: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SendOp(DialectOp):
        """`stablehlo.send`."""

        inputs: Sequence[SSAValue]
        token: SSAValue
        channel_handle: ChannelHandleAttr
        is_host_transfer: IntegerAttr[IntegerType] | None
        source_target_pairs: DenseIntOrFPElementsAttr | None
        result: OpResult

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            token: SSAValue | Operation,
            *,
            channel_handle: ChannelHandleAttr | ChannelHandle | Mapping[str, object],
            is_host_transfer: IntegerAttr[IntegerType] | bool | None = None,
            source_target_pairs: DenseIntOrFPElementsAttr | Sequence[Sequence[int]] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AfterAllOp(PrettyOp):
        """`stablehlo.after_all`."""

        inputs: Sequence[SSAValue]
        result: OpResult

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CaseOp(DialectOp):
        """`stablehlo.case`."""

        index: SSAValue
        results_: Sequence[OpResult]
        branches: Sequence[Region]

        def __init__(
            self,
            index: SSAValue | Operation,
            *,
            branches: Sequence[Region],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CompositeOp(PrettyOp):
        """`stablehlo.composite`."""

        inputs: Sequence[SSAValue]
        name_: StringAttr
        composite_attributes: DictionaryAttr | None
        decomposition: SymbolRefAttr
        version: IntegerAttr[IntegerType] | None
        results_: Sequence[OpResult]
        composite_regions: Sequence[Region]

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            *,
            name_: StringAttr | str,
            composite_attributes: DictionaryAttr | Mapping[str, PlainValue | Attribute] | None = None,
            decomposition: SymbolRefAttr | str,
            version: IntegerAttr[IntegerType] | int | None = None,
            composite_regions: Sequence[Region],
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CreateTokenOp(PrettyOp):
        """`stablehlo.create_token`."""

        output: OpResult

        def __init__(
            self,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CustomCallOp(PrettyOp):
        """`stablehlo.custom_call`."""

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
            inputs: Sequence[SSAValue | Operation],
            *,
            call_target_name: StringAttr | str,
            has_side_effect: IntegerAttr[IntegerType] | bool | None = None,
            backend_config: StringAttr | DictionaryAttr | str | Mapping[str, PlainValue | Attribute] | None = None,
            api_version: IntegerAttr[IntegerType] | int | None = None,
            called_computations: ArrayAttr[Attribute] | Sequence[SymbolRefAttr | str] | None = None,
            operand_layouts: ArrayAttr[Attribute] | None = None,
            result_layouts: ArrayAttr[Attribute] | None = None,
            output_operand_aliases: ArrayAttr[Attribute] | None = None,
            result_tilings: ArrayAttr[Attribute] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class GetTupleElementOp(PrettyOp):
        """`stablehlo.get_tuple_element`."""

        operand: SSAValue
        index: IntegerAttr[IntegerType]
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            index: IntegerAttr[IntegerType] | int,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class IfOp(DialectOp):
        """`stablehlo.if`."""

        pred: SSAValue
        results_: Sequence[OpResult]
        true_branch: Region
        false_branch: Region

        def __init__(
            self,
            pred: SSAValue | Operation,
            *,
            true_branch: Region,
            false_branch: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class OptimizationBarrierOp(PrettyOp):
        """`stablehlo.optimization_barrier`."""

        operand: Sequence[SSAValue]
        result: Sequence[OpResult]

        def __init__(
            self,
            operand: Sequence[SSAValue | Operation],
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ReturnOp(PrettyOp):
        """`stablehlo.return`."""

        results_: Sequence[SSAValue]

        def __init__(
            self,
            results_: Sequence[SSAValue | Operation],
            *,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RngOp(PrettyOp):
        """`stablehlo.rng`."""

        a: SSAValue
        b: SSAValue
        shape: SSAValue
        rng_distribution: RngDistributionAttr
        result: OpResult

        def __init__(
            self,
            a: SSAValue | Operation,
            b: SSAValue | Operation,
            shape: SSAValue | Operation,
            *,
            rng_distribution: RngDistributionAttr | Literal["UNIFORM", "NORMAL"],
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RngBitGeneratorOp(PrettyOp):
        """`stablehlo.rng_bit_generator`."""

        initial_state: SSAValue
        rng_algorithm: RngAlgorithmAttr
        output_state: OpResult
        output: OpResult

        def __init__(
            self,
            initial_state: SSAValue | Operation,
            *,
            rng_algorithm: RngAlgorithmAttr | Literal["DEFAULT", "THREE_FRY", "PHILOX"],
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TupleOp(PrettyOp):
        """`stablehlo.tuple`."""

        val: Sequence[SSAValue]
        result: OpResult

        def __init__(
            self,
            val: Sequence[SSAValue | Operation],
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class WhileOp(PrettyOp):
        """`stablehlo.while`."""

        operand: Sequence[SSAValue]
        results_: Sequence[OpResult]
        cond: Region
        body: Region

        def __init__(
            self,
            operand: Sequence[SSAValue | Operation],
            *,
            cond: Region,
            body: Region,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

else:
    from shardy_py.mlir.dialects.stablehlo import OPS

    __getattr__ = OPS.class_named
