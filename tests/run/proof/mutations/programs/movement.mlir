// Slices, pads, concatenations and reversals of a sharded dimension of 13.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<13x3xf32>)
    -> (tensor<9x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<22x3xf32>, tensor<13x3xf32>) {
  %t = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<13x3xf32>
  %v = stablehlo.constant dense<7.0> : tensor<f32>
  %0 = stablehlo.slice %t [2:11, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<13x3xf32>) -> tensor<9x3xf32>
  %1 = stablehlo.pad %t, %v, low = [1, 0], high = [2, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<13x3xf32>, tensor<f32>) -> tensor<16x3xf32>
  %2 = stablehlo.concatenate %t, %0, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<13x3xf32>, tensor<9x3xf32>) -> tensor<22x3xf32>
  %3 = stablehlo.reverse %t, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<13x3xf32>
  return %0, %1, %2, %3 : tensor<9x3xf32>, tensor<16x3xf32>, tensor<22x3xf32>, tensor<13x3xf32>
}
