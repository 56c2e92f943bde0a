// A strided convolution, and the sum of its windows' places.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<2x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %w: tensor<3x2x4xf32>) -> (tensor<2x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, tensor<2x4xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x2xf32>, tensor<3x2x4xf32>) -> tensor<2x8x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x8x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0, %1 : tensor<2x8x4xf32>, tensor<2x4xf32>
}
