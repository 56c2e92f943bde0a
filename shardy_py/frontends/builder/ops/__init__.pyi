# Generated from the rows of functions and ops by `make docs`.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardy_py.frontends.builder.broadcasting import Dimensions
from shardy_py.frontends.builder.ops.written import bitcast_convert as bitcast_convert
from shardy_py.frontends.builder.ops.written import broadcast_in_dim as broadcast_in_dim
from shardy_py.frontends.builder.ops.written import broadcast_to as broadcast_to
from shardy_py.frontends.builder.ops.written import clamp as clamp
from shardy_py.frontends.builder.ops.written import compare as compare
from shardy_py.frontends.builder.ops.written import concatenate as concatenate
from shardy_py.frontends.builder.ops.written import constant as constant
from shardy_py.frontends.builder.ops.written import custom_call as custom_call
from shardy_py.frontends.builder.ops.written import dynamic_conv as dynamic_conv
from shardy_py.frontends.builder.ops.written import dynamic_slice as dynamic_slice
from shardy_py.frontends.builder.ops.written import dynamic_update_slice as dynamic_update_slice
from shardy_py.frontends.builder.ops.written import iota as iota
from shardy_py.frontends.builder.ops.written import optimization_barrier as optimization_barrier
from shardy_py.frontends.builder.ops.written import pad as pad
from shardy_py.frontends.builder.ops.written import reshape as reshape
from shardy_py.frontends.builder.ops.written import select as select
from shardy_py.frontends.builder.ops.written import squeeze as squeeze
from shardy_py.frontends.builder.ops.written import take as take
from shardy_py.frontends.builder.tensor import Operand, Tensor
from shardy_py.frontends.builder.types import RankedTensorType
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers, GatherDimensionNumbers

FUNCTIONS: dict[str, Callable[..., Any]]

def abs(operand: Tensor) -> Tensor:
    """`stablehlo.abs` of a tensor."""

def add(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.add` of two tensors; numbers and sizes of 1 are broadcast."""

def after_all(*tokens: Tensor) -> Tensor:
    """A token that depends on all given tokens."""

def all_gather(
    operand: Tensor,
    dimension: int,
    replica_groups: Sequence[Sequence[int]],
    *,
    channel: int | None = None,
) -> Tensor:
    """The tensors of a group, concatenated along a dimension."""

def all_reduce(
    operand: Tensor,
    replica_groups: Sequence[Sequence[int]],
    body: Callable[[Tensor, Tensor], Tensor] | None = None,
    *,
    channel: int | None = None,
) -> Tensor:
    """The tensors of a group combined by `body`, of two elements; None: summed."""

def all_to_all(
    operand: Tensor,
    split_dimension: int,
    concat_dimension: int,
    replica_groups: Sequence[Sequence[int]],
    *,
    channel: int | None = None,
) -> Tensor:
    """Splits one dimension over the devices of a group and concatenates the received parts along another."""

def and_(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.and` of two tensors; numbers and sizes of 1 are broadcast."""

def async_done(future: Tensor) -> Tensor:
    """Waits for a future and returns its tensor."""

def async_start(body: Callable[..., Tensor], *operands: Tensor) -> Tensor:
    """The future of the result of `body`: one asynchronous collective or slice of the operands."""

def atan2(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.atan2` of two tensors; numbers and sizes of 1 are broadcast."""

def batch_norm_grad(
    operand: Tensor,
    scale: Tensor,
    mean: Tensor,
    variance: Tensor,
    grad_output: Tensor,
    epsilon: float,
    feature_index: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the operand, of the scale, of the offset."""

def batch_norm_inference(
    operand: Tensor,
    scale: Tensor,
    offset: Tensor,
    mean: Tensor,
    variance: Tensor,
    epsilon: float,
    feature_index: int,
) -> Tensor:
    """The tensor normalized by given means and variances."""

def batch_norm_training(
    operand: Tensor,
    scale: Tensor,
    offset: Tensor,
    epsilon: float,
    feature_index: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The normalized tensor, means, variances."""

def cbrt(operand: Tensor) -> Tensor:
    """`stablehlo.cbrt` of a tensor."""

def ceil(operand: Tensor) -> Tensor:
    """`stablehlo.ceil` of a tensor."""

def cholesky(operand: Tensor, *, lower: bool = False) -> Tensor:
    """The Cholesky decomposition of batches of matrices."""

def collective_broadcast(
    operand: Tensor,
    replica_groups: Sequence[Sequence[int]],
    *,
    channel: int | None = None,
) -> Tensor:
    """The tensor of the first device of each group."""

def collective_permute(
    operand: Tensor,
    pairs: Sequence[Sequence[int]],
    *,
    channel: int | None = None,
) -> Tensor:
    """The tensor of another device; `pairs`: sender and receiver."""

def collective_reduce(
    operand: Tensor,
    replica_groups: Sequence[Sequence[int]],
    body: Callable[[Tensor, Tensor], Tensor] | None = None,
    *,
    channel: int | None = None,
) -> Tensor:
    """The tensors of a group combined by `body` (None: summed) on its first device; zeros on the others."""

def complex(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.complex` of two tensors; numbers and sizes of 1 are broadcast."""

def convert(operand: Tensor, element_type: Any) -> Tensor:
    """The elements converted to another type."""

def convolution(
    lhs: Tensor,
    rhs: Tensor,
    dimension_numbers: ConvDimensionNumbers | Mapping[str, Any],
    *,
    window_strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
) -> Tensor:
    """A convolution; sizes of the result as in StableHLO, "convolution"; elements as in `lhs`."""

def cosine(operand: Tensor) -> Tensor:
    """`stablehlo.cosine` of a tensor."""

def count_leading_zeros(operand: Tensor) -> Tensor:
    """`stablehlo.count_leading_zeros` of a tensor."""

def create_token() -> Tensor:
    """A token without dependencies."""

def divide(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.divide` of two tensors; numbers and sizes of 1 are broadcast."""

def dynamic_broadcast_in_dim(
    operand: Tensor,
    sizes: Tensor,
    broadcast_dimensions: Sequence[int],
    result: RankedTensorType,
) -> Tensor:
    """Dimension i of the operand becomes dimension `broadcast_dimensions[i]` of a tensor of those sizes."""

def dynamic_gather(
    operand: Tensor,
    start_indices: Tensor,
    slice_sizes: Tensor,
    dimension_numbers: GatherDimensionNumbers | Mapping[str, Any],
    *,
    indices_are_sorted: bool = False,
) -> Tensor:
    """Windows of run-time sizes of the operand at indices."""

def dynamic_iota(sizes: Tensor, dimension: int, result: RankedTensorType) -> Tensor:
    """The index along one dimension of a tensor of those sizes."""

def dynamic_pad(
    operand: Tensor,
    padding_value: Tensor,
    low: Tensor,
    high: Tensor,
    interior: Tensor,
    result: RankedTensorType,
) -> Tensor:
    """The tensor padded before, after and between its elements by run-time amounts."""

def dynamic_reshape(operand: Tensor, sizes: Tensor, result: RankedTensorType) -> Tensor:
    """The elements, row-major, in a shape of those sizes."""

def exponential(operand: Tensor) -> Tensor:
    """`stablehlo.exponential` of a tensor."""

def exponential_minus_one(operand: Tensor) -> Tensor:
    """`stablehlo.exponential_minus_one` of a tensor."""

def fft(operand: Tensor, fft_type: str, length: Sequence[int]) -> Tensor:
    """A Fourier transform: FFT, IFFT, RFFT or IRFFT."""

def floor(operand: Tensor) -> Tensor:
    """`stablehlo.floor` of a tensor."""

def gather(
    operand: Tensor,
    start_indices: Tensor,
    dimension_numbers: GatherDimensionNumbers | Mapping[str, Any],
    slice_sizes: Sequence[int],
    *,
    indices_are_sorted: bool = False,
) -> Tensor:
    """Windows of the operand at indices."""

def get_dimension_size(operand: Tensor, dimension: int) -> Tensor:
    """The size of a dimension, as a scalar of i32."""

def get_tuple_element(operand: Tensor, index: int) -> Tensor:
    """One value of a tuple."""

def imag(operand: Tensor) -> Tensor:
    """`stablehlo.imag` of a tensor."""

def infeed(token: Tensor, results: Sequence[RankedTensorType], config: str = "") -> tuple[Tensor, ...]:
    """Tensors from the infeed, then a token that depends on them."""

def is_finite(operand: Tensor) -> Tensor:
    """`stablehlo.is_finite` of a tensor."""

def log(operand: Tensor) -> Tensor:
    """`stablehlo.log` of a tensor."""

def log_plus_one(operand: Tensor) -> Tensor:
    """`stablehlo.log_plus_one` of a tensor."""

def logistic(operand: Tensor) -> Tensor:
    """`stablehlo.logistic` of a tensor."""

def maximum(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.maximum` of two tensors; numbers and sizes of 1 are broadcast."""

def minimum(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.minimum` of two tensors; numbers and sizes of 1 are broadcast."""

def multiply(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.multiply` of two tensors; numbers and sizes of 1 are broadcast."""

def negate(operand: Tensor) -> Tensor:
    """`stablehlo.negate` of a tensor."""

def not_(operand: Tensor) -> Tensor:
    """`stablehlo.not` of a tensor."""

def or_(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.or` of two tensors; numbers and sizes of 1 are broadcast."""

def outfeed(inputs: Sequence[Tensor], token: Tensor, config: str = "") -> Tensor:
    """Sends tensors to the outfeed; returns a token that depends on that."""

def partition_id() -> Tensor:
    """The number of the device among partitions, as a scalar of ui32."""

def popcnt(operand: Tensor) -> Tensor:
    """`stablehlo.popcnt` of a tensor."""

def power(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.power` of two tensors; numbers and sizes of 1 are broadcast."""

def real(operand: Tensor) -> Tensor:
    """`stablehlo.real` of a tensor."""

def real_dynamic_slice(
    operand: Tensor,
    start: Tensor,
    limit: Tensor,
    strides: Tensor,
    result: RankedTensorType,
) -> Tensor:
    """The elements from `start` to before `limit`, which are run-time values."""

def recv(
    token: Tensor,
    results: Sequence[RankedTensorType],
    channel: int,
    *,
    from_host: bool = False,
) -> tuple[Tensor, ...]:
    """Tensors received over a channel, then a token that depends on them."""

def reduce_precision(operand: Tensor, exponent_bits: int, mantissa_bits: int) -> Tensor:
    """The elements rounded to a format of so many bits."""

def reduce_scatter(
    operand: Tensor,
    dimension: int,
    replica_groups: Sequence[Sequence[int]],
    body: Callable[[Tensor, Tensor], Tensor] | None = None,
    *,
    channel: int | None = None,
) -> Tensor:
    """The tensors of a group combined by `body` (None: summed), scattered along a dimension."""

def remainder(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.remainder` of two tensors; numbers and sizes of 1 are broadcast."""

def replica_id() -> Tensor:
    """The number of the device among replicas, as a scalar of ui32."""

def reverse(operand: Tensor, axes: Dimensions) -> Tensor:
    """The tensor reversed along dimensions."""

def rng(low: Tensor, high: Tensor, sizes: Tensor, distribution: str = "UNIFORM") -> Tensor:
    """Random numbers: UNIFORM between two bounds, or NORMAL of a mean and a deviation."""

def rng_bit_generator(
    state: Tensor,
    result: RankedTensorType,
    algorithm: str = "DEFAULT",
) -> tuple[Tensor, Tensor]:
    """The next state and random bits: DEFAULT, THREE_FRY or PHILOX."""

def round_nearest_afz(operand: Tensor) -> Tensor:
    """`stablehlo.round_nearest_afz` of a tensor."""

def round_nearest_even(operand: Tensor) -> Tensor:
    """`stablehlo.round_nearest_even` of a tensor."""

def rsqrt(operand: Tensor) -> Tensor:
    """`stablehlo.rsqrt` of a tensor."""

def send(inputs: Sequence[Tensor], token: Tensor, channel: int, *, to_host: bool = False) -> Tensor:
    """Sends tensors over a channel; returns a token that depends on that."""

def set_dimension_size(operand: Tensor, size: Tensor, dimension: int) -> Tensor:
    """The tensor with a dimension of that size, given as a scalar of i32."""

def shift_left(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.shift_left` of two tensors; numbers and sizes of 1 are broadcast."""

def shift_right_arithmetic(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.shift_right_arithmetic` of two tensors; numbers and sizes of 1 are broadcast."""

def shift_right_logical(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.shift_right_logical` of two tensors; numbers and sizes of 1 are broadcast."""

def sign(operand: Tensor) -> Tensor:
    """`stablehlo.sign` of a tensor."""

def sine(operand: Tensor) -> Tensor:
    """`stablehlo.sine` of a tensor."""

def slice_(
    operand: Tensor,
    start: Sequence[int],
    limit: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Tensor:
    """The elements from `start` to before `limit`."""

def sqrt(operand: Tensor) -> Tensor:
    """`stablehlo.sqrt` of a tensor."""

def subtract(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.subtract` of two tensors; numbers and sizes of 1 are broadcast."""

def tan(operand: Tensor) -> Tensor:
    """`stablehlo.tan` of a tensor."""

def tanh(operand: Tensor) -> Tensor:
    """`stablehlo.tanh` of a tensor."""

def transpose(operand: Tensor, permutation: Dimensions) -> Tensor:
    """The dimensions in another order."""

def triangular_solve(
    a: Tensor,
    b: Tensor,
    *,
    left_side: bool = True,
    lower: bool = False,
    unit_diagonal: bool = False,
    transpose_a: str = "NO_TRANSPOSE",
) -> Tensor:
    """The solution of batches of triangular systems."""

def tuple_(*values: Tensor) -> Tensor:
    """A tuple of values."""

def uniform_dequantize(operand: Tensor, element_type: Any = "f32") -> Tensor:
    """Quantized elements as numbers of a type."""

def uniform_quantize(operand: Tensor, result: RankedTensorType) -> Tensor:
    """The elements quantized to those of `result`."""

def xor(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.xor` of two tensors; numbers and sizes of 1 are broadcast."""
