// RUN: sdy-opt %s --xla-sdy-export-ops | filecheck %s

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<1.000000e+00> : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {"x"}]> : tensor<8x8xf32>
  %3 = sdy.all_gather [{}, {"x"}] %2 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %4 = sdy.propagation_barrier %3 allowed_direction=NONE : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
// What stands behind a group, in regions too, uses the member.
func.func @groups(%arg0: tensor<8xf32>, %arg1: tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  sdy.sharding_group %arg0 group_id=3 : tensor<8xf32>
  %1 = "stablehlo.if"(%arg1) ({
    stablehlo.return %arg0 : tensor<8xf32>
  }, {
    sdy.sharding_group %0 group_id=3 : tensor<8xf32>
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %cst = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%cst) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[0]", sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x"}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %2 = stablehlo.custom_call @Sharding(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @groups(%arg0: tensor<8xf32>, %arg1: tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>) {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @Sharding(%arg0) {has_side_effect = true, mhlo.sharding = "{unknown shard_as 3}"} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = "stablehlo.if"(%arg1) ({
// CHECK-NEXT:       stablehlo.return %1 : tensor<8xf32>
// CHECK-NEXT:     }, {
// CHECK-NEXT:       %3 = stablehlo.custom_call @Sharding(%0) {has_side_effect = true, mhlo.sharding = "{unknown shard_as 3}"} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       stablehlo.return %3 : tensor<8xf32>
// CHECK-NEXT:     }) : (tensor<i1>) -> tensor<8xf32>
// CHECK-NEXT:     return %0, %2 : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
