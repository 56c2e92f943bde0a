// RUN: sdy-opt %s --sdy-drop-sharding-and-mesh | filecheck %s

// Attributes go everywhere, other attributes of arguments stay.

sdy.mesh @mesh = <["x"=2]>

func.func @main(%arg0: tensor<8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = "stablehlo.case"(%arg1) ({
    %1 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32> {jax.buffer_donor = true}, %arg1: tensor<i32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = "stablehlo.case"(%arg1) ({
// CHECK-NEXT:       %1 = stablehlo.negate %arg0 : tensor<8xf32>
// CHECK-NEXT:       stablehlo.return %1 : tensor<8xf32>
// CHECK-NEXT:     }) : (tensor<i32>) -> tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
