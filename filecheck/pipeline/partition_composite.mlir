// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline 2>&1 | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline --prove 2>&1 | filecheck %s --check-prefix PROOF

sdy.mesh @mesh = <["x"=4, "y"=2]>

// The decomposition has a sharding of its own.
// CHECK: func.func @main(%arg0: tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NOT: composite
// PROOF: equal: 2 of 2 values compared
func.func @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.composite "my.op" %arg0 {decomposition = @my_op} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.negate %0 : tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}
func.func private @my_op(%arg0: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
