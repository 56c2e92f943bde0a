// RUN: sdy-opt %s --xla-sdy-round-trip-shard-map-export | filecheck %s

// Without operands or results there is nothing to cut or to join.

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<4xf32>) {
  %0:2 = sdy.manual_computation(%arg0, %arg0) in_shardings=[<@mesh, [{"x"}, {?}]>, <@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>, %arg2: tensor<8x2xf32>) {
    sdy.return %arg1, %arg2 : tensor<2x8xf32>, tensor<8x2xf32>
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} () {
    %2 = stablehlo.constant dense<1.000000e+00> : tensor<1xf32>
    sdy.return %2 : tensor<1xf32>
  } : () -> tensor<4xf32>
  return %0#0, %1 : tensor<8x8xf32>, tensor<4xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<4xf32>) {
// CHECK-NEXT:     %0:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%arg0, %arg0) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {?}]>, <@mesh, [{}, {\22x\22}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>"}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<8x2xf32>)
// CHECK-NEXT:     %1:2 = call @xla.sdy.manual_computation_body(%0#0, %0#1) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<2x8xf32>, tensor<8x2xf32>) -> (tensor<2x8xf32>, tensor<8x2xf32>)
// CHECK-NEXT:     %2:2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1#0, %1#1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {}]>, <@mesh, [{}, {\22x\22}]>]>"}} : (tensor<2x8xf32>, tensor<8x2xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     %3 = call @xla.sdy.manual_computation_body_0() {mhlo.frontend_attributes = {inlineable = "false"}} : () -> tensor<1xf32>
// CHECK-NEXT:     %4 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%3) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : (tensor<1xf32>) -> tensor<4xf32>
// CHECK-NEXT:     return %2#0, %4 : tensor<8x8xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @xla.sdy.manual_computation_body(%arg0: tensor<2x8xf32>, %arg1: tensor<8x2xf32>) -> (tensor<2x8xf32>, tensor<8x2xf32>) {
// CHECK-NEXT:     return %arg0, %arg1 : tensor<2x8xf32>, tensor<8x2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @xla.sdy.manual_computation_body_0() -> tensor<1xf32> {
// CHECK-NEXT:     %cst = stablehlo.constant dense<1.000000e+00> : tensor<1xf32>
// CHECK-NEXT:     return %cst : tensor<1xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
