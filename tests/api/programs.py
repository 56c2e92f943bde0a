"""The program that the tests of the API share."""

MATMUL = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%arg0: tensor<32x128xf32> loc("x"), %arg1: tensor<128x64xf32> loc("params['w']"))
    -> (tensor<32x64xf32> {jax.result_info = "out"}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<32x128xf32>, tensor<128x64xf32>) -> tensor<32x64xf32> loc("jit(f)/dot"("model.py":7:3))
  %1 = stablehlo.tanh %0 : tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}
"""
