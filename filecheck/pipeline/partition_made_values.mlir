// RUN: sdy-opt %s --sdy-partitioner-pipeline | filecheck %s

// A constant, an iota and a scalar that is repeated are made in the sharding that they are needed in; no
// device gathers what it can make.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: stablehlo.iota dim = 0 : tensor<8xi32>
// CHECK-NOT: all_gather
func.func @main(%s: tensor<f32>) -> (tensor<8xf32>, tensor<8xi32>, tensor<8xi32>) {
  %0 = stablehlo.broadcast_in_dim %s, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xi32>
  %2 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<[0, 1, 2, 3, 4, 5, 6, 9]> : tensor<8xi32>
  %3 = sdy.reshard %0 <@mesh, [{}]> : tensor<8xf32>
  %4 = sdy.reshard %1 <@mesh, [{}]> : tensor<8xi32>
  %5 = sdy.reshard %2 <@mesh, [{}]> : tensor<8xi32>
  return %3, %4, %5 : tensor<8xf32>, tensor<8xi32>, tensor<8xi32>
}
