# Generated from the rows of ops by `make docs`.
from collections.abc import Callable
from typing import Any

from shardy_py.builder.ops.collectives import after_all as after_all
from shardy_py.builder.ops.collectives import all_gather as all_gather
from shardy_py.builder.ops.collectives import all_reduce as all_reduce
from shardy_py.builder.ops.collectives import all_to_all as all_to_all
from shardy_py.builder.ops.collectives import async_done as async_done
from shardy_py.builder.ops.collectives import async_start as async_start
from shardy_py.builder.ops.collectives import collective_broadcast as collective_broadcast
from shardy_py.builder.ops.collectives import collective_permute as collective_permute
from shardy_py.builder.ops.collectives import collective_reduce as collective_reduce
from shardy_py.builder.ops.collectives import create_token as create_token
from shardy_py.builder.ops.collectives import get_tuple_element as get_tuple_element
from shardy_py.builder.ops.collectives import infeed as infeed
from shardy_py.builder.ops.collectives import outfeed as outfeed
from shardy_py.builder.ops.collectives import partition_id as partition_id
from shardy_py.builder.ops.collectives import recv as recv
from shardy_py.builder.ops.collectives import reduce_scatter as reduce_scatter
from shardy_py.builder.ops.collectives import replica_id as replica_id
from shardy_py.builder.ops.collectives import send as send
from shardy_py.builder.ops.collectives import tuple_ as tuple_
from shardy_py.builder.ops.dynamic import batch_norm_grad as batch_norm_grad
from shardy_py.builder.ops.dynamic import batch_norm_inference as batch_norm_inference
from shardy_py.builder.ops.dynamic import batch_norm_training as batch_norm_training
from shardy_py.builder.ops.dynamic import bitcast_convert as bitcast_convert
from shardy_py.builder.ops.dynamic import dynamic_broadcast_in_dim as dynamic_broadcast_in_dim
from shardy_py.builder.ops.dynamic import dynamic_conv as dynamic_conv
from shardy_py.builder.ops.dynamic import dynamic_gather as dynamic_gather
from shardy_py.builder.ops.dynamic import dynamic_iota as dynamic_iota
from shardy_py.builder.ops.dynamic import dynamic_pad as dynamic_pad
from shardy_py.builder.ops.dynamic import dynamic_reshape as dynamic_reshape
from shardy_py.builder.ops.dynamic import get_dimension_size as get_dimension_size
from shardy_py.builder.ops.dynamic import real_dynamic_slice as real_dynamic_slice
from shardy_py.builder.ops.dynamic import reduce_precision as reduce_precision
from shardy_py.builder.ops.dynamic import rng as rng
from shardy_py.builder.ops.dynamic import rng_bit_generator as rng_bit_generator
from shardy_py.builder.ops.dynamic import set_dimension_size as set_dimension_size
from shardy_py.builder.ops.dynamic import squeeze as squeeze
from shardy_py.builder.ops.dynamic import triangular_solve as triangular_solve
from shardy_py.builder.ops.dynamic import uniform_dequantize as uniform_dequantize
from shardy_py.builder.ops.dynamic import uniform_quantize as uniform_quantize
from shardy_py.builder.ops.plain import broadcast_in_dim as broadcast_in_dim
from shardy_py.builder.ops.plain import broadcast_to as broadcast_to
from shardy_py.builder.ops.plain import cholesky as cholesky
from shardy_py.builder.ops.plain import clamp as clamp
from shardy_py.builder.ops.plain import compare as compare
from shardy_py.builder.ops.plain import concatenate as concatenate
from shardy_py.builder.ops.plain import constant as constant
from shardy_py.builder.ops.plain import convert as convert
from shardy_py.builder.ops.plain import custom_call as custom_call
from shardy_py.builder.ops.plain import dynamic_slice as dynamic_slice
from shardy_py.builder.ops.plain import dynamic_update_slice as dynamic_update_slice
from shardy_py.builder.ops.plain import fft as fft
from shardy_py.builder.ops.plain import gather as gather
from shardy_py.builder.ops.plain import iota as iota
from shardy_py.builder.ops.plain import optimization_barrier as optimization_barrier
from shardy_py.builder.ops.plain import pad as pad
from shardy_py.builder.ops.plain import reshape as reshape
from shardy_py.builder.ops.plain import reverse as reverse
from shardy_py.builder.ops.plain import select as select
from shardy_py.builder.ops.plain import slice_ as slice_
from shardy_py.builder.ops.plain import take as take
from shardy_py.builder.ops.plain import transpose as transpose
from shardy_py.builder.tensor import Operand, Tensor

FUNCTIONS: dict[str, Callable[..., Any]]

def abs(operand: Tensor) -> Tensor:
    """`stablehlo.abs` of a tensor."""

def add(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.add` of two tensors; numbers and sizes of 1 are broadcast."""

def and_(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.and` of two tensors; numbers and sizes of 1 are broadcast."""

def atan2(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.atan2` of two tensors; numbers and sizes of 1 are broadcast."""

def cbrt(operand: Tensor) -> Tensor:
    """`stablehlo.cbrt` of a tensor."""

def ceil(operand: Tensor) -> Tensor:
    """`stablehlo.ceil` of a tensor."""

def complex(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.complex` of two tensors; numbers and sizes of 1 are broadcast."""

def cosine(operand: Tensor) -> Tensor:
    """`stablehlo.cosine` of a tensor."""

def count_leading_zeros(operand: Tensor) -> Tensor:
    """`stablehlo.count_leading_zeros` of a tensor."""

def divide(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.divide` of two tensors; numbers and sizes of 1 are broadcast."""

def exponential(operand: Tensor) -> Tensor:
    """`stablehlo.exponential` of a tensor."""

def exponential_minus_one(operand: Tensor) -> Tensor:
    """`stablehlo.exponential_minus_one` of a tensor."""

def floor(operand: Tensor) -> Tensor:
    """`stablehlo.floor` of a tensor."""

def imag(operand: Tensor) -> Tensor:
    """`stablehlo.imag` of a tensor."""

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

def popcnt(operand: Tensor) -> Tensor:
    """`stablehlo.popcnt` of a tensor."""

def power(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.power` of two tensors; numbers and sizes of 1 are broadcast."""

def real(operand: Tensor) -> Tensor:
    """`stablehlo.real` of a tensor."""

def remainder(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.remainder` of two tensors; numbers and sizes of 1 are broadcast."""

def round_nearest_afz(operand: Tensor) -> Tensor:
    """`stablehlo.round_nearest_afz` of a tensor."""

def round_nearest_even(operand: Tensor) -> Tensor:
    """`stablehlo.round_nearest_even` of a tensor."""

def rsqrt(operand: Tensor) -> Tensor:
    """`stablehlo.rsqrt` of a tensor."""

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

def sqrt(operand: Tensor) -> Tensor:
    """`stablehlo.sqrt` of a tensor."""

def subtract(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.subtract` of two tensors; numbers and sizes of 1 are broadcast."""

def tan(operand: Tensor) -> Tensor:
    """`stablehlo.tan` of a tensor."""

def tanh(operand: Tensor) -> Tensor:
    """`stablehlo.tanh` of a tensor."""

def xor(lhs: Operand, rhs: Operand) -> Tensor:
    """`stablehlo.xor` of two tensors; numbers and sizes of 1 are broadcast."""
