// Reshapes that split and join a sharded dimension, also where parts are uneven.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %y: tensor<6x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<60xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<18xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %t = stablehlo.tanh %y {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<6x3xf32>
  %0 = stablehlo.reshape %x : (tensor<12x5xf32>) -> tensor<60xf32>
  %1 = stablehlo.reshape %t {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<6x3xf32>) -> tensor<18xf32>
  return %0, %1 : tensor<60xf32>, tensor<18xf32>
}
