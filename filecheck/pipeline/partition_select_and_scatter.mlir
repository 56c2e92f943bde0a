// RUN: sdy-opt %s --sdy-partitioner-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-partitioner-pipeline --prove=7 2>&1 | filecheck %s --check-prefix PROOF

sdy.mesh @mesh = <["x"=3]>

// 11 elements in parts of 4, the last one of 3; windows 012 234 456 678 89A in parts of 2. Part 1, elements 4 to 7,
// is touched by windows 1 to 3.
// CHECK-LABEL: @main(%arg0: tensor<4xf32>, %arg1: tensor<2xf32>, %arg2: tensor<f32>) -> tensor<4xf32>
// CHECK-NOT: all_gather
// CHECK: "stablehlo.collective_permute"{{.*}} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK: "stablehlo.select_and_scatter"{{.*}}padding = dense<0> : tensor<1x2xi64>
// CHECK: (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
// CHECK: stablehlo.slice {{.*}} : (tensor<7xf32>) -> tensor<4xf32>
// PROOF-NOT: warning
// PROOF: equal
func.func @main(%arg0: tensor<11xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg2: tensor<f32>) -> (tensor<11xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<11xf32>, tensor<5xf32>, tensor<f32>) -> tensor<11xf32>
  return %0 : tensor<11xf32>
}
