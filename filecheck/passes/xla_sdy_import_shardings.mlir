// RUN: sdy-opt %s --xla-sdy-import-shardings | filecheck %s

// The mesh has the cuts of all shardings; one device is a mesh of its own; tuples give each result its own.

func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}, %arg1: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, %arg2: tensor<8xf32> {mhlo.sharding = "{unknown}"}) -> (tensor<8x8xf32> {jax.result_info = "r", mhlo.sharding = "{replicated}"}) {
  %0 = stablehlo.add %arg0, %arg1 {mhlo.sharding = "{devices=[2,2,2]<=[8] last_tile_dims={unreduced}}"} : tensor<8x8xf32>
  %1 = stablehlo.negate %0 {mhlo.sharding = "{maximal device=3}"} : tensor<8x8xf32>
  %2:2 = stablehlo.custom_call @two(%1) {mhlo.sharding = "{{devices=[2,4]<=[8]}, {manual}}"} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %g = stablehlo.custom_call @Sharding(%2#0) {mhlo.sharding = "{unknown shard_as 4}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = stablehlo.negate %g {mhlo.sharding = "{replicated shard_as 4}"} : tensor<8x8xf32>
  %3 = stablehlo.custom_call @SPMDFullToShardShape(%g) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  return %2#1 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["_axis_0"=2, "_axis_1"=2, "_axis_2"=2]>
// CHECK-NEXT:   sdy.mesh @maximal_mesh_3 = <[], device_ids=[3]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"_axis_1", "_axis_2"}, {"_axis_0"}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"_axis_0"}, {}]>}, %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) -> (tensor<8x8xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
// CHECK-NEXT:     %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"_axis_0"}, {"_axis_1"}], unreduced={"_axis_2"}>]>} : tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_3, []>]>} : tensor<8x8xf32>
// CHECK-NEXT:     %2:2 = stablehlo.custom_call @two(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"_axis_0"}, {"_axis_1", "_axis_2"}]>, <@mesh, [{}, {}]>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT:     sdy.sharding_group %2#0 group_id=4 : tensor<8x8xf32>
// CHECK-NEXT:     %3 = stablehlo.negate %2#0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:     sdy.sharding_group %3 group_id=4 : tensor<8x8xf32>
// CHECK-NEXT:     %4 = stablehlo.custom_call @SPMDFullToShardShape(%2#0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"_axis_0"}>} : (tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:     return %2#1 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
