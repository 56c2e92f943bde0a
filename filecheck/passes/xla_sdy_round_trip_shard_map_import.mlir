// RUN: sdy-opt %s --stablehlo-ext-canonicalize-from-hlo-import --xla-sdy-round-trip-shard-map-import | filecheck %s

// Two operands and results through tuples; a body whose results nobody uses goes.

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<8x32xf32>) -> tensor<16x8xf32> {
  %0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%arg0, %arg1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {\22y\22}]>, <@mesh, [{\22y\22}, {}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22, \22y\22}>"}} : (tensor<16x8xf32>, tensor<8x32xf32>) -> tuple<tensor<4x4xf32>, tensor<4x32xf32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<4x4xf32>, tensor<4x32xf32>>) -> tensor<4x4xf32>
  %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<4x4xf32>, tensor<4x32xf32>>) -> tensor<4x32xf32>
  %3:2 = call @xla.sdy.manual_computation_body.1(%1, %2) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<4x4xf32>, tensor<4x32xf32>) -> (tensor<4x4xf32>, tensor<4x32xf32>)
  %4 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%3#0, %3#1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22, \22y\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {\22y\22}]>, <@mesh, [{\22y\22}, {}]>]>"}} : (tensor<4x4xf32>, tensor<4x32xf32>) -> tuple<tensor<16x8xf32>, tensor<8x32xf32>>
  %5 = stablehlo.get_tuple_element %4[0] : (tuple<tensor<16x8xf32>, tensor<8x32xf32>>) -> tensor<16x8xf32>
  %6 = call @xla.sdy.manual_computation_body.2(%5) : (tensor<16x8xf32>) -> tensor<0xf32>
  return %5 : tensor<16x8xf32>
}
func.func private @xla.sdy.manual_computation_body.1(%arg0: tensor<4x4xf32>, %arg1: tensor<4x32xf32>) -> (tensor<4x4xf32>, tensor<4x32xf32>) {
  %0 = stablehlo.negate %arg0 : tensor<4x4xf32>
  return %0, %arg1 : tensor<4x4xf32>, tensor<4x32xf32>
}
func.func private @xla.sdy.manual_computation_body.2(%arg0: tensor<16x8xf32>) -> tensor<0xf32> {
  %0 = stablehlo.constant dense<> : tensor<0xf32>
  return %0 : tensor<0xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<8x32xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT:     %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {}]>] manual_axes={"x", "y"} (%arg2: tensor<4x4xf32>, %arg3: tensor<4x32xf32>) {
// CHECK-NEXT:       %1 = stablehlo.negate %arg2 : tensor<4x4xf32>
// CHECK-NEXT:       sdy.return %1, %arg3 : tensor<4x4xf32>, tensor<4x32xf32>
// CHECK-NEXT:     } : (tensor<16x8xf32>, tensor<8x32xf32>) -> (tensor<16x8xf32>, tensor<8x32xf32>)
// CHECK-NEXT:     return %0#0 : tensor<16x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
