// Layer normalization over a sharded dimension of 10, written out.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<3x10xf32>) -> tensor<3x10xf32> {
  %t = stablehlo.exponential %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<3x10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<10.0> : tensor<3xf32>
  %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x10xf32>, tensor<f32>) -> tensor<3xf32>
  %m = stablehlo.divide %s, %n : tensor<3xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xf32>) -> tensor<3x10xf32>
  %d = stablehlo.subtract %t, %b : tensor<3x10xf32>
  %q = stablehlo.multiply %d, %d : tensor<3x10xf32>
  %r = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x10xf32>, tensor<f32>) -> tensor<3xf32>
  %v = stablehlo.divide %r, %n : tensor<3xf32>
  %w = stablehlo.rsqrt %v : tensor<3xf32>
  %u = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<3xf32>) -> tensor<3x10xf32>
  %y = stablehlo.multiply %d, %u : tensor<3x10xf32>
  return %y : tensor<3x10xf32>
}
