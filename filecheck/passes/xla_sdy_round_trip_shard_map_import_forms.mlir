// RUN: sdy-opt %s --xla-sdy-round-trip-shard-map-import | filecheck %s

// Without operands, without results, without both; attributes on the call, as older versions have them; a body
// that nobody calls.

sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @xla.sdy.manual_computation_body() {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : () -> tensor<2xf32>
  %1 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%0) : (tensor<2xf32>) -> tensor<8xf32>
  %2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%arg0) {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>"}} : (tensor<8xf32>) -> tensor<2xf32>
  call @xla.sdy.manual_computation_body_0(%2) : (tensor<2xf32>) -> ()
  call @xla.sdy.manual_computation_body_1() : () -> ()
  return %1 : tensor<8xf32>
}
func.func private @xla.sdy.manual_computation_body() -> tensor<2xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @xla.sdy.manual_computation_body_0(%arg0: tensor<2xf32>) {
  return
}
func.func private @xla.sdy.manual_computation_body_1() {
  return
}
func.func private @xla.sdy.manual_computation_body_2() {
  return
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} () {
// CHECK-NEXT:       %cst = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK-NEXT:       sdy.return %cst : tensor<2xf32>
// CHECK-NEXT:     } : () -> tensor<8xf32>
// CHECK-NEXT:     sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[] manual_axes={"x"} (%arg1: tensor<2xf32>) {
// CHECK-NEXT:       sdy.return
// CHECK-NEXT:     } : (tensor<8xf32>) -> ()
// CHECK-NEXT:     sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
// CHECK-NEXT:       sdy.return
// CHECK-NEXT:     } : () -> ()
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
