// RUN: sdy-opt %s --xla-sdy-import-shardings | filecheck %s

// Shardings by mesh and axes bring their mesh along; one on another mesh of as many devices is said on it too.

func.func @main(%arg0: tensor<32xi32> {mhlo.sharding = "{mesh['a'=2,'b'=4], [{'b':(1)2, ?}]}"}, %arg1: tensor<32xi32> {mhlo.sharding = "{devices=[8]<=[8]}"}, %arg2: tensor<32xi32> {mhlo.sharding = "{single_device[device_id=5]}"}) {
  return
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["a"=2, "b"=4]>
// CHECK-NEXT:   sdy.mesh @maximal_mesh_5 = <[], device_ids=[5]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b":(1)2, ?}]>}, %arg1: tensor<32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}]>}, %arg2: tensor<32xi32> {sdy.sharding = #sdy.sharding<@maximal_mesh_5, []>}) {
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }
