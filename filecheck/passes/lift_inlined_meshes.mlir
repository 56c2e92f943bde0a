// RUN: sdy-opt %s --split-input-file --sdy-lift-inlined-meshes | filecheck %s

// Inlined meshes get symbols behind the last mesh; equal meshes become one.

sdy.mesh @first = <["x"=4]>
sdy.mesh @other = <["x"=2, "y"=2]>
sdy.mesh @same_as_first = <["x"=4]>
sdy.mesh @reversed = <["x"=4], device_ids=[3, 2, 1, 0]>

func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@same_as_first, [{"x"}, {?}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["y"=8]>, [{}, {"y"}p1]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x"}, {}], replicated={"y"}>}, tensor<8x8xf32>) {
  %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<mesh<["z"=16]>, [{"z":(1)2}, {}]>]>} : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <mesh<["y"=8]>, [{"y"}, {?}]> : tensor<8x8xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<mesh<["x"=4]>, [{"x"}, {}]>] out_shardings=[<mesh<["w"=2]>, [{}, {}], replicated={"w"}>] manual_axes={} (%arg2: tensor<8x8xf32>) {
    sdy.return %arg2 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.negate %2 {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=4], device_ids=[3, 2, 1, 0]>, [{}, {}]>]>} : tensor<8x8xf32>
  return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

func.func @without_meshes(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[5]>, []>}) -> tensor<8xf32> {
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<[]>, [{}]>]>} : tensor<8xf32>
  stablehlo.custom_call @effect(%0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[0]>, []>]>} : (tensor<8xf32>) -> ()
  return %0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @first = <["x"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 4 : i64}]}}
// CHECK-NEXT:   sdy.mesh @other = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
// CHECK-NEXT:   sdy.mesh @reversed = <["x"=4], device_ids=[3, 2, 1, 0]> {stablehlo.mesh = {axes = [{name = "x", size = 4 : i64}], device_ids = dense<[3, 2, 1, 0]> : tensor<4xi64>}}
// CHECK-NEXT:   sdy.mesh @mesh = <["y"=8]> {stablehlo.mesh = {axes = [{name = "y", size = 8 : i64}]}}
// CHECK-NEXT:   sdy.mesh @mesh_0 = <["z"=16]> {stablehlo.mesh = {axes = [{name = "z", size = 16 : i64}]}}
// CHECK-NEXT:   sdy.mesh @mesh_1 = <["w"=2]> {stablehlo.mesh = {axes = [{name = "w", size = 2 : i64}]}}
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@first, [{"x"}, {?}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}p1]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}, {}], replicated={"y"}>}, tensor<8x8xf32>) {
// CHECK-NEXT:     %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh_0, [{"z":(1)2}, {}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.sharding_constraint %0 <@mesh, [{"y"}, {?}]> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = sdy.manual_computation(%1) in_shardings=[<@first, [{"x"}, {}]>] out_shardings=[<@mesh_1, [{}, {}], replicated={"w"}>] manual_axes={} (%arg2: tensor<8x8xf32>) {
// CHECK-NEXT:       sdy.return %arg2 : tensor<8x8xf32>
// CHECK-NEXT:     } : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %3 = stablehlo.negate %2 {sdy.sharding = #sdy.sharding_per_value<[<@reversed, [{}, {}]>]>} : tensor<8x8xf32>
// CHECK-NEXT:     return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @maximal_mesh_5 = <[], device_ids=[5]> {stablehlo.mesh = {axes = [], device_ids = dense<5> : tensor<1xi64>}}
// CHECK-NEXT:   sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
// CHECK-NEXT:   sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]> {stablehlo.mesh = {axes = [], device_ids = dense<0> : tensor<1xi64>}}
// CHECK-NEXT:   func.func @without_meshes(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@maximal_mesh_5, []>}) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@empty_mesh, [{}]>]>} : tensor<8xf32>
// CHECK-NEXT:     stablehlo.custom_call @effect(%0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<8xf32>) -> ()
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
