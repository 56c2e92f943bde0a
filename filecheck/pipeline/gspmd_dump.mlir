// RUN: sdy-opt %s --xla-sdy-stablehlo-import-pipeline='mesh-axes=data=4,model=2' --sdy-propagation-pipeline | filecheck %s

// A layer as a framework lowers it for GSPMD, with a part mapped by hand: read as sdy, then decided.

module @jit_layer attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x64xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}, %arg1: tensor<64x128xf32> {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"}, %arg2: tensor<128x64xf32>) -> (tensor<32x64xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"} : (tensor<32x128xf32>) -> tensor<32x128xf32>
    %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "", mhlo.sharding = "{devices=[4,2]<=[8]}"} : (tensor<32x128xf32>) -> tensor<32x128xf32>
    %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<32x128xf32>) -> tensor<8x64xf32>
    %4 = call @shmap_body(%3) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %5 = stablehlo.custom_call @Sharding(%4) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {backend_config = "", mhlo.sharding = "{devices=[4,2]<=[8]}"} : (tensor<8x64xf32>) -> tensor<32x128xf32>
    %7 = stablehlo.dot_general %6, %arg2, contracting_dims = [1] x [0] : (tensor<32x128xf32>, tensor<128x64xf32>) -> tensor<32x64xf32>
    return %7 : tensor<32x64xf32>
  }
  func.func private @shmap_body(%arg0: tensor<8x64xf32>) -> (tensor<8x64xf32> {jax.result_info = "[('data', 'model')]"}) {
    %0 = stablehlo.tanh %arg0 : tensor<8x64xf32>
    return %0 : tensor<8x64xf32>
  }
}

// CHECK:      module @jit_layer attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
// CHECK-NEXT:   sdy.mesh @mesh = <["data"=4, "model"=2]> {stablehlo.mesh = {axes = [{name = "data", size = 4 : i64}, {name = "model", size = 2 : i64}]}}
// CHECK-NEXT:   func.func public @main(%arg0: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg1: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %arg2: tensor<128x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> (tensor<32x64xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
// CHECK-NEXT:     %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}]>]>} : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
// CHECK-NEXT:     %1 = sdy.reshard %0 <@mesh, [{"data"}, {"model"}]> : tensor<32x128xf32>
// CHECK-NEXT:     %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"data"}, {"model"}]>] out_shardings=[<@mesh, [{"data"}, {"model"}]>] manual_axes={"data", "model"} (%arg3: tensor<8x64xf32>) {
// CHECK-NEXT:       %4 = stablehlo.tanh %arg3 : tensor<8x64xf32>
// CHECK-NEXT:       sdy.return %4 : tensor<8x64xf32>
// CHECK-NEXT:     } : (tensor<32x128xf32>) -> tensor<32x128xf32>
// CHECK-NEXT:     %3 = stablehlo.dot_general %2, %arg2, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>} : (tensor<32x128xf32>, tensor<128x64xf32>) -> tensor<32x64xf32>
// CHECK-NEXT:     return %3 : tensor<32x64xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
