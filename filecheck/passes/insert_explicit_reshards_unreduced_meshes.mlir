// RUN: sdy-opt %s --sdy-insert-explicit-reshards | filecheck %s

// Unreduced axes over different meshes are reduced, each over its own.

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @other = <["x"=4]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{}, {}], unreduced={"x"}>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   sdy.mesh @other = <["x"=4]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{}, {}], unreduced={"x"}>}) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.all_reduce {"x"} %arg1 out_sharding=<@other, [{}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
