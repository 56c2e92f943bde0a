// A grouped convolution whose kernel is sharded along windows, and its groups along a sub-axis of the same axis.
sdy.mesh @mesh = <["a"=8]>
func.func @main(
    %image: tensor<2x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(2)4}, {"a":(1)2}, {}]>},
    %kernel: tensor<4x3x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2}, {"a":(2)4}, {}]>})
    -> (tensor<2x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"a":(1)2}]>}) {
  %0 = stablehlo.convolution(%image, %kernel) dim_numbers = [0, f, b]x[o, 0, i]->[0, b, f],
    window = {stride = [3], pad = [[2, 2]], lhs_dilate = [2], rhs_dilate = [1]}
    {batch_group_count = 1 : i64, feature_group_count = 2 : i64,
     sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"a":(1)2}]>]>}
    : (tensor<2x2x4xf32>, tensor<4x3x1xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
