// RUN: sdy-opt %s --sdy-propagation-pipeline=update-non-divisible-input-output-shardings=false --sdy-partitioner-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline=stage=reshard-to-collectives | filecheck %s --check-prefix=GLOBAL

sdy.mesh @mesh = <["x"=4]>

// Each device has 2 of 7 rows; what is beyond the last row must not be summed.
// CHECK-LABEL: func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NOT: sdy
// CHECK: stablehlo.partition_id
// CHECK: [[data:%.+]] = stablehlo.select
// CHECK: [[part:%.+]] = stablehlo.reduce([[data]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: "stablehlo.all_reduce"([[part]])
// CHECK-SAME: replica_groups = dense<{{\[\[}}0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids
// GLOBAL: sdy.all_reduce
func.func @main(%arg0: tensor<7x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<7x3xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<7x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
