// RUN: sdy-opt %s --sdy-propagation-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline | sdy-opt - | filecheck %s

// Shardings go through a loop; an axis of size one is dropped.

sdy.mesh @mesh = <["x"=2, "y"=1]>

func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.cosine %x : tensor<8xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8xf32>
  }
  return %0#1 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=1]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 1 : i64}]}}
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
// CHECK-NEXT:     %0 = sdy.constant dense<0> : tensor<i32>
// CHECK-NEXT:     %1:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %arg0) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>}
// CHECK-NEXT:     cond {
// CHECK-NEXT:       %2 = stablehlo.compare LT, %iterArg, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK-NEXT:       stablehlo.return %2 : tensor<i1>
// CHECK-NEXT:     } do {
// CHECK-NEXT:       %2 = sdy.constant dense<1> : tensor<i32>
// CHECK-NEXT:       %3 = stablehlo.add %iterArg, %2 : tensor<i32>
// CHECK-NEXT:       %4 = stablehlo.cosine %iterArg_0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
// CHECK-NEXT:       stablehlo.return %3, %4 : tensor<i32>, tensor<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     return %1#1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
