// RUN: sdy-opt %s --canonicalize | filecheck %s

// Unused ops without memory effects are dead; sharding constraints and collectives are not, as in Shardy.

sdy.mesh @mesh = <["x"=2]>

// CHECK: func.func @sdy
func.func @sdy(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // CHECK-NEXT: sdy.all_gather
  %0 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  // CHECK-NEXT: sdy.sharding_constraint
  %1 = sdy.sharding_constraint %arg0 <@mesh, [{}]> : tensor<8xf32>
  %2 = sdy.propagation_barrier %arg0 allowed_direction=NONE : tensor<8xf32>
  %3 = sdy.reshard %arg0 <@mesh, [{}]> : tensor<8xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @other_dialects
func.func @other_dialects(%arg0: f32, %arg1: tensor<8xf32>) {
  %0 = arith.addf %arg0, %arg0 : f32
  %1 = stablehlo.add %arg1, %arg1 : tensor<8xf32>
  // CHECK-NEXT: stablehlo.custom_call @effect
  %2 = stablehlo.custom_call @effect(%arg1) {has_side_effect = true} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: return
  return
}
