"""Programs of any number of ops: equal layers, with scopes as JAX names them, on a mesh of 8 devices."""

from __future__ import annotations

_HEAD = """sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%arg0: tensor<64x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %arg1: tensor<512x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %arg2: tensor<2048x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
    -> tensor<64x512xf32> {
"""
_LAYER = """  %u{n} = stablehlo.dot_general {x}, %arg1, contracting_dims = [1] x [0]
    : (tensor<64x512xf32>, tensor<512x2048xf32>) -> tensor<64x2048xf32>
    loc("jit(f)/layer_{n}/mlp/dot_general")
  %t{n} = stablehlo.tanh %u{n} : tensor<64x2048xf32> loc("jit(f)/layer_{n}/mlp/tanh")
  %s{n} = stablehlo.multiply %t{n}, %u{n} : tensor<64x2048xf32> loc("jit(f)/layer_{n}/mlp/mul")
  %d{n} = stablehlo.dot_general %s{n}, %arg2, contracting_dims = [1] x [0]
    : (tensor<64x2048xf32>, tensor<2048x512xf32>) -> tensor<64x512xf32>
    loc("jit(f)/layer_{n}/mlp/dot_general")
  %x{n} = stablehlo.add {x}, %d{n} : tensor<64x512xf32> loc("jit(f)/layer_{n}/add")
"""
OPS_IN_LAYER = 5


def layers(count: int) -> str:
    """A program of `count` layers of `OPS_IN_LAYER` ops, each with an all-reduce."""
    body = "".join(
        _LAYER.replace("{n}", str(n)).replace("{x}", f"%x{n - 1}" if n else "%arg0") for n in range(count)
    )
    return f"{_HEAD}{body}  return %x{count - 1} : tensor<64x512xf32>\n}}\n"
