// RUN: sdy-opt %s --xla-sdy-round-trip-export-ops | filecheck %s

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {"x"}p1]> : tensor<8x8xf32>
  %2 = sdy.reshard %1 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %3 = sdy.propagation_barrier %2 allowed_direction=BACKWARD : tensor<8x8xf32>
  sdy.sharding_group %3 group_id=7 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %cst = stablehlo.constant dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%cst) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x"}p1]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @Sharding(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %2 = stablehlo.custom_call @xla.sdy.PropagationBarrier(%1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.allowed_direction = "2 : i32"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     stablehlo.custom_call @xla.sdy.ShardingGroup(%2) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding_group_id = "7 : i64"}} : (tensor<8x8xf32>) -> ()
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
