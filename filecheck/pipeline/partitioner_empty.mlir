// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline | filecheck %s

sdy.mesh @mesh = <["x"=2]>

// An operand without elements adds nothing to a sharded dimension.
// CHECK-LABEL: func.func @main(%arg0: tensor<0xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%arg0: tensor<0xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<0xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
