// RUN: sdy-opt %s --xla-sdy-stablehlo-export-shardings=enable-hlo-sharding-v3=true | filecheck %s

sdy.mesh @mesh = <["x"=8, "y"=4]>
sdy.mesh @one = <[], device_ids=[5]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}p1, {"x":(2)2}], replicated={"x":(1)2}>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) {
  return
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=8,'y'=4], [{'y', ?}, {'x':(2)2}], replicated={'x':(1)2}}"}, %arg1: tensor<8x8xf32> {mhlo.sharding = "{maximal_mesh[device_id=5]}"}) {
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }
