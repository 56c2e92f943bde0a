// RUN: sdy-opt %s --xla-sdy-import-shardings='mesh-axes=x=4,y=2' --xla-sdy-stablehlo-round-trip-shard-map-import | filecheck %s

// Bodies in place of their calls. A constant is copied, also into what is in regions; two shard maps in a row; one
// within another; one without operands; one whose second value comes in behind the first that goes out.

func.func @constants(%arg0: tensor<8x8xf32>, %arg1: tensor<i1> {mhlo.sharding = "{replicated}"}) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<2x8xf32>
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<8x8xf32>) -> tensor<2x8xf32>
  %p = stablehlo.custom_call @SPMDFullToShardShape(%arg1) {mhlo.sharding = "{devices=[4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<i1>) -> tensor<i1>
  %2 = "stablehlo.if"(%p) ({
    %3 = stablehlo.add %1, %c : tensor<2x8xf32>
    stablehlo.return %3 : tensor<2x8xf32>
  }, {
    stablehlo.return %c : tensor<2x8xf32>
  }) : (tensor<i1>) -> tensor<2x8xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<2x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
func.func @within(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<8x8xf32>) -> tensor<2x8xf32>
  %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %4 = stablehlo.negate %3 : tensor<2x4xf32>
  %5 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = "{manual}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"} : (tensor<2x4xf32>) -> tensor<2x8xf32>
  %7 = stablehlo.tanh %6 : tensor<2x8xf32>
  %8 = stablehlo.custom_call @Sharding(%7) {mhlo.sharding = "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %9 = stablehlo.custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<2x8xf32>) -> tensor<8x8xf32>
  %10 = stablehlo.custom_call @SPMDFullToShardShape(%9) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<2x8xf32>
  %11 = stablehlo.cosine %10 : tensor<2x8xf32>
  %12 = stablehlo.custom_call @SPMDShardToFullShape(%11) {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<2x8xf32>) -> tensor<8x8xf32>
  return %12 : tensor<8x8xf32>
}
func.func @without() -> tensor<8xui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  %i = stablehlo.iota dim = 0 : tensor<4xui32>
  %r = stablehlo.reduce(%i init: %0) applies stablehlo.add across dimensions = [0] : (tensor<4xui32>, tensor<ui32>) -> tensor<ui32>
  %1 = stablehlo.reshape %r : (tensor<ui32>) -> tensor<1xui32>
  %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{manual}"} : (tensor<1xui32>) -> tensor<1xui32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[8]<=[8]}"} : (tensor<1xui32>) -> tensor<8xui32>
  return %3 : tensor<8xui32>
}
func.func @late(%arg0: tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[8]}"}, %arg1: tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[8]}"}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%arg0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<1xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[8]<=[8]}"} : (tensor<1xf32>) -> tensor<8xf32>
  %2 = stablehlo.custom_call @SPMDFullToShardShape(%arg1) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<1xf32>
  %3 = stablehlo.add %0, %2 : tensor<1xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[8]<=[8]}"} : (tensor<1xf32>) -> tensor<8xf32>
  return %1, %4 : tensor<8xf32>, tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @constants(%arg0: tensor<8x8xf32>, %arg1: tensor<i1> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<2x8xf32>, %arg3: tensor<i1>) {
// CHECK-NEXT:       %cst = stablehlo.constant dense<2.000000e+00> : tensor<2x8xf32>
// CHECK-NEXT:       %1 = "stablehlo.if"(%arg3) ({
// CHECK-NEXT:         %2 = stablehlo.add %arg2, %cst : tensor<2x8xf32>
// CHECK-NEXT:         stablehlo.return %2 : tensor<2x8xf32>
// CHECK-NEXT:       }, {
// CHECK-NEXT:         stablehlo.return %cst : tensor<2x8xf32>
// CHECK-NEXT:       }) : (tensor<i1>) -> tensor<2x8xf32>
// CHECK-NEXT:       sdy.return %1 : tensor<2x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>, tensor<i1>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @within(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x8xf32>) {
// CHECK-NEXT:       %2 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%arg2: tensor<2x4xf32>) {
// CHECK-NEXT:         %4 = stablehlo.negate %arg2 : tensor<2x4xf32>
// CHECK-NEXT:         sdy.return %4 : tensor<2x4xf32>
// CHECK-NEXT:       } : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:       %3 = stablehlo.tanh %2 : tensor<2x8xf32>
// CHECK-NEXT:       sdy.return %3 : tensor<2x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<2x8xf32>) {
// CHECK-NEXT:       %2 = stablehlo.cosine %arg1 : tensor<2x8xf32>
// CHECK-NEXT:       sdy.return %2 : tensor<2x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %1 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @without() -> tensor<8xui32> {
// CHECK-NEXT:     %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} () {
// CHECK-NEXT:       %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT:       %2 = stablehlo.iota dim = 0 : tensor<4xui32>
// CHECK-NEXT:       %3 = stablehlo.reduce(%2 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<4xui32>, tensor<ui32>) -> tensor<ui32>
// CHECK-NEXT:       %4 = stablehlo.reshape %3 : (tensor<ui32>) -> tensor<1xui32>
// CHECK-NEXT:       sdy.return %4 : tensor<1xui32>
// CHECK-NEXT:     } : () -> tensor<8xui32>
// CHECK-NEXT:     return %0 : tensor<8xui32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @late(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
// CHECK-NEXT:     %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%arg2: tensor<1xf32>, %arg3: tensor<1xf32>) {
// CHECK-NEXT:       %1 = stablehlo.add %arg2, %arg3 : tensor<1xf32>
// CHECK-NEXT:       sdy.return %arg2, %1 : tensor<1xf32>, tensor<1xf32>
// CHECK-NEXT:     } : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT:     return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
