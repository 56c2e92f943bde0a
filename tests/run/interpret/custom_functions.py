"""What the corpus' custom calls to Python, or for the TPU only, compute: in StableHLO for XLA, and in numpy.

text = without_callbacks(corpus_text("custom_rules"))
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from shardy_py.ops.compute import Array, CustomCall, register_custom_call

_FUNCTIONS = """
  func.func private @attend(%q: QKV, %k: QKV, %v: QKV) -> QKV {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
      : (QKV, QKV) -> SCORES
    %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [3]
      : (SCORES, tensor<f32>) -> ROWS
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (ROWS) -> SCORES
    %d = stablehlo.subtract %s, %mb : SCORES
    %e = stablehlo.exponential %d : SCORES
    %n = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3]
      : (SCORES, tensor<f32>) -> ROWS
    %nb = stablehlo.broadcast_in_dim %n, dims = [0, 1, 2] : (ROWS) -> SCORES
    %p = stablehlo.divide %e, %nb : SCORES
    %o = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]
      : (SCORES, QKV) -> HEADS
    %t = stablehlo.transpose %o, dims = [0, 2, 1, 3] : (HEADS) -> QKV
    return %t : QKV
  }
  func.func private @gated(%x: QKV, %w: WEIGHTS) -> FLAT {
    %f = stablehlo.reshape %x : (QKV) -> FLAT
    %y = stablehlo.dot_general %f, %w, contracting_dims = [2] x [0] : (FLAT, WEIGHTS) -> FLAT
    return %y : FLAT
  }
}
"""


def without_callbacks(text: str) -> str:
    """Returns the program with StableHLO in place of what JAX calls in Python, and without tokens."""
    found = re.search(r"CustomSPMDPartitioning\(%0, %0, %0\).*-> tensor<(\d+)x(\d+)x(\d+)x(\d+)xf32>", text)
    assert found is not None
    batch, length, heads, size = map(int, found.groups())
    width = heads * size
    types = {
        "QKV": (batch, length, heads, size),
        "SCORES": (batch, heads, length, length),
        "ROWS": (batch, heads, length),
        "HEADS": (batch, heads, length, size),
        "FLAT": (batch, length, width),
        "WEIGHTS": (width, width),
    }
    functions = _FUNCTIONS
    for name, shape in types.items():
        functions = re.sub(rf"\b{name}\b", f"tensor<{'x'.join(map(str, shape))}xf32>", functions)
    attributes = r"(\(.*?\)) \{.*\} :"
    text = re.sub(
        rf"stablehlo.custom_call @CustomSPMDPartitioning(?=\(%0){attributes}", r"call @attend\1 :", text
    )
    text = re.sub(rf"stablehlo.custom_call @CustomSPMDPartitioning{attributes}", r"call @gated\1 :", text)
    text = re.sub(rf"(%9 =) stablehlo.custom_call @\w+{attributes}", r'\1 "stablehlo.sine"\2 :', text)
    text = re.sub(r"\n.*@xla_ffi_python_cpu_callback.*", "", text)
    text = re.sub(
        r"%arg0: !stablehlo.token \{.*?\}, |!stablehlo.token \{.*?\}, |!stablehlo.token, ", "", text
    )
    text = re.sub(r"return %12, ", "return ", text)
    return text.rstrip().removesuffix("}") + functions.lstrip("\n")


def with_exact_top_k(text: str) -> str:
    """Returns the program with an exact top_k, which the CPU has, in place of the approximate one."""
    attributes = r"\((%\w+), .*?\) \{.*top_k = (\d+).*\} : \((tensor<\w+>),.*?\) ->"
    return re.sub(f"stablehlo.custom_call @ApproxTopK{attributes}", r"chlo.top_k(\1, k = \2) : \3 ->", text)


def _partitioned(call: CustomCall, x: Array, *others: Array) -> Array:
    if len(others) == 1:
        return x.reshape(*x.shape[:2], -1) @ others[0]  # the rule of the call declares a reduction
    keys, values = (other.transpose(0, 2, 1, 3) for other in others)
    scores = x.transpose(0, 2, 1, 3) @ keys.swapaxes(2, 3)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ values).transpose(0, 2, 1, 3)


def _callback(call: CustomCall, *arrays: Any) -> Any:
    return np.sin(arrays[0]) if len(call.results) == 1 and call.results[0] is not None else ()


def register() -> None:
    """Registers the custom calls of the program."""
    register_custom_call("CustomSPMDPartitioning", _partitioned)
    register_custom_call("xla_ffi_python_cpu_callback", _callback)
