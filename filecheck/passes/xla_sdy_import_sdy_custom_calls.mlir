// RUN: sdy-opt %s --xla-sdy-import-sdy-custom-calls | filecheck %s

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @Sharding(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], replicated={"y"}>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // A dimension that is not specified is open.
  %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]", sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], replicated={"y"}>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // The user's own part along every axis: there is nothing left to say.
  %2 = stablehlo.custom_call @Sharding(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x", "y"}>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.custom_call @xla.sdy.PropagationBarrier(%2) {mhlo.frontend_attributes = {xla.sdy.allowed_direction = "1 : i32"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  stablehlo.custom_call @xla.sdy.ShardingGroup(%3) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding_group_id = "21 : i64"}} : (tensor<8x8xf32>) -> ()
  return %3 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}], replicated={"y"}> : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}], replicated={"y"}> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.propagation_barrier %1 allowed_direction=FORWARD : tensor<8x8xf32>
// CHECK-NEXT:     sdy.sharding_group %2 group_id=21 : tensor<8x8xf32>
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
