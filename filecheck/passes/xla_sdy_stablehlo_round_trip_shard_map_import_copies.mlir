// RUN: sdy-opt %s --xla-sdy-stablehlo-import-pipeline | filecheck %s

// After Shardy, XLA's dumps have copies with shardings where GSPMD has calls of @Sharding.

module {
func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=4], [{'x'}, {}]}"}) -> (tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=4], [{'x'}, {}]}"}) {
  %0 = mhlo.copy %arg0 {mhlo.sharding = "{mesh['x'=4], [{'x'}, {}]}"} : tensor<8x8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{mesh['x'=4], manual}"} : (tensor<8x8xf32>) -> tensor<2x8xf32>
  %2 = call @xla.sdy.inlinable_manual_computation_body(%1) {mhlo.sharding = "{mesh['x'=4], manual}"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = mhlo.copy %2 {mhlo.sharding = "{mesh['x'=4], manual}"} : tensor<2x8xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{mesh['x'=4], [{'x'}, {}]}"} : (tensor<2x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
func.func private @xla.sdy.inlinable_manual_computation_body(%arg0: tensor<2x8xf32> {mhlo.sharding = "{mesh['x'=4], manual}"}) -> (tensor<2x8xf32> {mhlo.sharding = "{mesh['x'=4], manual}"}) {
  %0 = stablehlo.negate %arg0 {mhlo.sharding = "{mesh['x'=4], manual}"} : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
}

// CHECK:      %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
// CHECK-NEXT:   %2 = stablehlo.negate %arg1
// CHECK-NEXT:   sdy.return %2 : tensor<2x8xf32>
// CHECK-NOT:  SPMD
