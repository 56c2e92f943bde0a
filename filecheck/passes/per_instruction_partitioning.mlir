// RUN: sdy-opt %s --sdy-per-instruction-partitioning="filter=tanh,reduce" | filecheck %s

sdy.mesh @mesh = <["x"=2]>

// Only the ops of the filter are partitioned; an uneven operand is padded around the manual computation, and
// its result within; a padded result is handed on.
// CHECK-LABEL: func.func @two_ops
func.func @two_ops(%arg0: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: [[cos:%.+]] = stablehlo.cosine %arg0
  %0 = stablehlo.cosine %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<5xf32>
  // CHECK: [[even:%.+]] = stablehlo.pad [[cos]], {{.*}} -> tensor<6xf32>
  // CHECK-NEXT: [[tanh:%.+]] = sdy.manual_computation([[even]]) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%{{.*}}: tensor<3xf32>) {
  // CHECK:   stablehlo.slice %{{.*}} [0:3] : (tensor<3xf32>) -> tensor<3xf32>
  // CHECK-NEXT:   stablehlo.tanh %{{.*}} : tensor<3xf32>
  // CHECK: stablehlo.select
  // CHECK-NEXT: stablehlo.pad {{.*}} high = [0]
  // CHECK: stablehlo.slice [[tanh]] [0:5]
  %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<5xf32>
  // CHECK: sdy.manual_computation([[tanh]], %arg1)
  // CHECK: stablehlo.select
  // CHECK: stablehlo.reduce
  // CHECK: "stablehlo.all_reduce"
  // CHECK: sdy.return
  %2 = stablehlo.reduce(%1 init: %arg1) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
