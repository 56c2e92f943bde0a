// Integers of floats that are summed in another order on the devices.
sdy.mesh @mesh = <["a"=2], device_ids=[1, 0]>
func.func @main(%arg0: tensor<7x7x7xf32>, %arg1: tensor<6x7x7xf32>) -> tensor<7x5x7xi64> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 2]], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<7x7x7xf32>, tensor<6x7x7xf32>) -> tensor<7x5x7xf32>
  %1 = stablehlo.power %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {?}, {}]>]>} : tensor<7x5x7xf32>
  %2 = stablehlo.convert %1 : (tensor<7x5x7xf32>) -> tensor<7x5x7xi64>
  return %2 : tensor<7x5x7xi64>
}
