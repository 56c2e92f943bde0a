// A convolution with halos: 13 places on 4 devices.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<1x13x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
                %w: tensor<3x2x2xf32>) -> (tensor<1x13x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<1x13x2xf32>, tensor<3x2x2xf32>) -> tensor<1x13x2xf32>
  %1 = stablehlo.tanh %0 : tensor<1x13x2xf32>
  return %1 : tensor<1x13x2xf32>
}
