sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x1x1xf32>, %k: tensor<1x1x6xf32>) -> tensor<8x2x6xf32> {
    %1 = stablehlo.convolution(%arg0, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 0]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"a"}, {}]>]>} : (tensor<8x1x1xf32>, tensor<1x1x6xf32>) -> tensor<8x2x6xf32>
  return %1 : tensor<8x2x6xf32>
}
