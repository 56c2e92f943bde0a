// RUN: sdy-opt %s --sdy-partitioner-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-partitioner-pipeline --prove 2>&1 | filecheck %s --check-prefix PROOF

sdy.mesh @mesh = <["x"=2]>

// Parts of 4 rows, 16 elements, become parts of 14: the second device gets the last two of the first one.
// CHECK-LABEL: @main(%arg0: tensor<4x4xf32>) -> tensor<2x7xf32>
// CHECK-NOT: all_gather
// CHECK: stablehlo.reshape {{.*}} : (tensor<4x4xf32>) -> tensor<16xf32>
// CHECK: "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}0, 1]]> : {{.*}} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK: stablehlo.reshape {{.*}} : (tensor<14xf32>) -> tensor<2x7xf32>
// PROOF-NOT: warning
// PROOF: equal
func.func @main(%arg0: tensor<7x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  return %0 : tensor<4x7xf32>
}
