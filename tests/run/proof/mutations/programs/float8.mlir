// Products of scaled f8 operands, the scale of the whole tensor by a reduction over devices.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<8x4xf8E4M3FN> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %abs = stablehlo.abs %x : tensor<4x8xf32>
  %low = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%abs init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %s = stablehlo.divide %x, %b : tensor<4x8xf32>
  %q = stablehlo.convert %s : (tensor<4x8xf32>) -> tensor<4x8xf8E4M3FN>
  %0 = stablehlo.dot %q, %w : (tensor<4x8xf8E4M3FN>, tensor<8x4xf8E4M3FN>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
