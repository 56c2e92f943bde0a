// RUN: sdy-opt %s --sdy-sharding-constraint-to-reshard | filecheck %s

// Constraints become reshards with the same attributes.

sdy.mesh @mesh = <["x"=2]>

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]> {key = "value"} : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}]> : tensor<8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = sdy.reshard %arg0 <@mesh, [{"x"}]> {key = "value"} : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.reshard %0 <@mesh, [{?}]> : tensor<8xf32>
// CHECK-NEXT:     %2 = stablehlo.add %0, %1 : tensor<8xf32>
// CHECK-NEXT:     return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
