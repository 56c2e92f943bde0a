// A cache of keys along a sharded sequence: an update at a run-time place, then a read.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%cache: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %new: tensor<2x4xf32>, %at: tensor<i32>)
    -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<3x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %cache, %new, %at, %zero : (tensor<12x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<12x4xf32>
  %1 = stablehlo.dynamic_slice %0, %at, %zero, sizes = [3, 4] : (tensor<12x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<12x4xf32>, tensor<3x4xf32>
}
