// RUN: sdy-opt %s --xla-sdy-import-shardings | filecheck %s

// Shardings by mesh and axes bring their mesh along; one on another mesh of as many devices is said on it too,
// manual axes as well.

func.func @main(%arg0: tensor<32xi32> {mhlo.sharding = "{mesh['a'=2,'b'=4], [{'b':(1)2, ?}]}"}, %arg1: tensor<32xi32> {mhlo.sharding = "{devices=[8]<=[8]}"}, %arg2: tensor<32xi32> {mhlo.sharding = "{single_device[device_id=5]}"}) {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{mesh['c'=4], [{'c'}]}"} : (tensor<32xi32>) -> tensor<32xi32>
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{mesh['d'=2,'e'=2], [{'e'}]}"} : (tensor<32xi32>) -> tensor<32xi32>
  %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{mesh['f'=2,'g'=2,'h'=2], [{'g'}], manual={'f'}}"} : (tensor<32xi32>) -> tensor<16xi32>
  return
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh_0 = <["c"=4]>
// CHECK-NEXT:   sdy.mesh @mesh = <["a"=2, "b"=4]>
// CHECK-NEXT:   sdy.mesh @maximal_mesh_5 = <[], device_ids=[5]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b":(1)2, ?}]>}, %arg1: tensor<32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}]>}, %arg2: tensor<32xi32> {sdy.sharding = #sdy.sharding<@maximal_mesh_5, []>}) {
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh_0, [{"c"}]>]>} : (tensor<32xi32>) -> tensor<32xi32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @Sharding(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh_0, [{"c":(2)2}]>]>} : (tensor<32xi32>) -> tensor<32xi32>
// CHECK-NEXT:     %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b":(1)2}]>]>, xla.sdy.manual_axes = #sdy<manual_axes{"a"}>} : (tensor<32xi32>) -> tensor<16xi32>
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }
