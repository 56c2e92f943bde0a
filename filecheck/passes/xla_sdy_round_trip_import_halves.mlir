// RUN: sdy-opt %s --xla-sdy-round-trip-import-shardy-attrs | filecheck %s

// Integers of 64 bits in two halves: what combines them has the sharding of the function's result.

module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=4]>}"}} {
  func.func @together(%arg0: tensor<8xui32>, %arg1: tensor<8xui32>) -> (tensor<8xi64>, tensor<8xi64>) {
    %0:2 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%arg0, %arg1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : (tensor<8xui32>, tensor<8xui32>) -> (tensor<8xui32>, tensor<8xui32>)
    %1 = stablehlo.custom_call @X64Combine(%0#0, %0#1) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi64>
    %2 = stablehlo.negate %1 : tensor<8xi64>
    return %1, %2 : tensor<8xi64>, tensor<8xi64>
  }
  func.func @apart(%arg0: tensor<8xui32>, %arg1: tensor<8xui32>) -> tensor<8xi64> {
    %0 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%arg0) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : (tensor<8xui32>) -> tensor<8xui32>
    %1 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%arg1) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : (tensor<8xui32>) -> tensor<8xui32>
    %2 = stablehlo.custom_call @X64Combine(%0, %1) : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi64>
    return %2 : tensor<8xi64>
  }
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4]>
// CHECK-NEXT:   func.func @together(%arg0: tensor<8xui32>, %arg1: tensor<8xui32>) -> (tensor<8xi64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xi64>) {
// CHECK-NEXT:     %0 = stablehlo.custom_call @X64Combine(%arg0, %arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi64>
// CHECK-NEXT:     %1 = stablehlo.negate %0 : tensor<8xi64>
// CHECK-NEXT:     return %0, %1 : tensor<8xi64>, tensor<8xi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @apart(%arg0: tensor<8xui32>, %arg1: tensor<8xui32>) -> (tensor<8xi64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
// CHECK-NEXT:     %0 = stablehlo.custom_call @X64Combine(%arg0, %arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi64>
// CHECK-NEXT:     return %0 : tensor<8xi64>
// CHECK-NEXT:   }
// CHECK-NEXT: }
