// RUN: sdy-opt %s --sdy-partitioner-pipeline 2>&1 | filecheck %s
// RUN: sdy-opt %s --sdy-partitioner-pipeline --prove 2>&1 | filecheck %s --check-prefix PROOF

sdy.mesh @mesh = <["x"=4, "y"=2]>

// Windows of whole dimensions that begin at zero stay within uneven parts: nothing moves.
// CHECK-NOT: warning
// CHECK: func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NOT: all_gather
// CHECK: "stablehlo.scatter"(%arg0, %{{.*}}, %arg1)
// CHECK: (tensor<2x3xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// PROOF-NOT: warning
// PROOF: equal
func.func @main(%arg0: tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %c = stablehlo.constant dense<0> : tensor<2xi32>
  %0 = "stablehlo.scatter"(%arg0, %c, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<7x5xf32>, tensor<2xi32>, tensor<7x5xf32>) -> tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}
