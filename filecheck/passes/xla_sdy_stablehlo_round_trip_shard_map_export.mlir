// RUN: sdy-opt %s --xla-sdy-stablehlo-round-trip-shard-map-export | filecheck %s

// A computation within another: inside, both are manual.

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
    %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%arg2: tensor<2x4xf32>) {
      %2 = stablehlo.negate %arg2 : tensor<2x4xf32>
      sdy.return %2 : tensor<2x4xf32>
    } : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %3 = stablehlo.abs %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<2x8xf32>
    sdy.return %3 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<8x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %2 = call @shmap_body_0(%1) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %3 = stablehlo.custom_call @Sharding(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<2x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %4 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @shmap_body(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
// CHECK-NEXT:     %0 = stablehlo.negate %arg0 : tensor<2x4xf32>
// CHECK-NEXT:     return %0 : tensor<2x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @shmap_body_0(%arg0: tensor<2x8xf32>) -> tensor<2x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x", "y"}>} : (tensor<2x8xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     %2 = call @shmap_body(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     %3 = stablehlo.custom_call @Sharding(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x", "y"}>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:     %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : (tensor<2x4xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:     %5 = stablehlo.abs %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"x"}>} : tensor<2x8xf32>
// CHECK-NEXT:     return %5 : tensor<2x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
