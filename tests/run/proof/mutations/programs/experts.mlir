// Experts: tokens by device become tokens by expert and come back: two all_to_alls.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8x4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
                %w: tensor<4x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<8x4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %a = stablehlo.tanh %x : tensor<8x4x6xf32>
  %0 = stablehlo.dot_general %a, %w, batching_dims = [1] x [0], contracting_dims = [2] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {}]>]>} : (tensor<8x4x6xf32>, tensor<4x6x6xf32>) -> tensor<4x8x6xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<4x8x6xf32>) -> tensor<8x4x6xf32>
  return %1 : tensor<8x4x6xf32>
}
