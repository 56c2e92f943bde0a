// The parts are summed from zero: the partial sums, and their sum, stand for nothing in the whole program.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<7xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] : (tensor<7xi32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}
