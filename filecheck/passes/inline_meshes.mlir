// RUN: sdy-opt %s --sdy-inline-meshes | filecheck %s

// All shardings and replica groups name the mesh itself afterwards.

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @turned = <["x"=2], device_ids=[1, 0]>
sdy.mesh @one = <[], device_ids=[3]>

func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@turned, [{}]>}) {
  %0 = sdy.reshard %arg0 <@turned, [{"x"}]> : tensor<8xf32>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<8xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<mesh<["x"=2, "y"=2]>, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<4xf32>) {
    sdy.return %arg1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2], device_ids=[1, 0]>, [{}]>}) {
// CHECK-NEXT:     %0 = sdy.reshard %arg0 <mesh<["x"=2], device_ids=[1, 0]>, [{"x"}]> : tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[3]>, []>]>} : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.manual_computation(%1) in_shardings=[<mesh<["x"=2, "y"=2]>, [{"x"}]>] out_shardings=[<mesh<["x"=2, "y"=2]>, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<4xf32>) {
// CHECK-NEXT:       sdy.return %arg1 : tensor<4xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
