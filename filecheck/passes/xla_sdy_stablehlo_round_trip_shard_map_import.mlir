// RUN: sdy-opt %s --xla-sdy-import-shardings='mesh-axes=x=2,y=4' --xla-sdy-stablehlo-round-trip-shard-map-import | filecheck %s

// The first body has two calls, so one of them gets a copy; the second is manual along x alone.

func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x2xf32>
  %2 = call @body(%1) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<4x2xf32>) -> tensor<8x8xf32>
  %5 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = stablehlo.custom_call @SPMDFullToShardShape(%5) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x2xf32>
  %7 = call @body(%6) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %8 = stablehlo.custom_call @SPMDShardToFullShape(%7) {mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<4x2xf32>) -> tensor<8x8xf32>
  %9 = stablehlo.custom_call @Sharding(%8) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %10 = stablehlo.custom_call @SPMDFullToShardShape(%9) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %11 = call @body_0(%10) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = stablehlo.custom_call @Sharding(%11) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = stablehlo.custom_call @SPMDShardToFullShape(%12) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return %13 : tensor<8x8xf32>
}
func.func private @body(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.negate %arg0 : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
func.func private @body_0(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.abs %arg0 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xf32>) {
// CHECK-NEXT:       %3 = stablehlo.negate %arg1 : tensor<4x2xf32>
// CHECK-NEXT:       sdy.return %3 : tensor<4x2xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xf32>) {
// CHECK-NEXT:       %3 = stablehlo.negate %arg1 : tensor<4x2xf32>
// CHECK-NEXT:       sdy.return %3 : tensor<4x2xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {
// CHECK-NEXT:       %3 = stablehlo.abs %arg1 : tensor<4x8xf32>
// CHECK-NEXT:       sdy.return %3 : tensor<4x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
