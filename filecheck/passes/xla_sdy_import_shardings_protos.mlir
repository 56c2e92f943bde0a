// RUN: sdy-opt %s --xla-sdy-import-shardings | filecheck %s

// Dumps of older versions hold the bytes of the proto; those of a replicated sharding are none.

func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "\08\03\1A\02\02\04\22\08\00\01\02\03\04\05\06\07"}, %arg1: tensor<8x8xf32> {mhlo.sharding = ""}) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "\08\01\22\01\05"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["_axis_0"=2, "_axis_1"=4]>
// CHECK-NEXT:   sdy.mesh @maximal_mesh_5 = <[], device_ids=[5]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"_axis_0"}, {"_axis_1"}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_5, []>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %0 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
