// RUN: sdy-opt %s --xla-before-propagation-pipeline | filecheck %s

// Meshes over the same devices are merged, folds are applied, calls inlined, invariant loop values dropped, ops
// ordered by operands, expanded ops given rules, and values that loops use from outside opened.

sdy.mesh @flat = <["all"=8]>
sdy.mesh @grid = <["x"=2, "y"=4]>

func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@flat, [{"all"}, {}]>},
                %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"x"}, {"y"}]>},
                %arg2: tensor<i32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %0 = stablehlo.sine %arg1 : tensor<8x4xf32>
  %1 = stablehlo.add %0, %zero : tensor<8x4xf32>
  %2 = call @inner(%arg0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3:3 = stablehlo.while(%i = %arg2, %x = %2, %w = %arg1) : tensor<i32>, tensor<8x4xf32>, tensor<8x4xf32>
   cond {
    %4 = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    %4 = stablehlo.add %i, %i : tensor<i32>
    %5 = stablehlo.multiply %x, %w : tensor<8x4xf32>
    stablehlo.return %4, %5, %w : tensor<i32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  return %3#1, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

func.func private @inner(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = chlo.lgamma %arg0 : tensor<8x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK:      func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"x", "y"}, {}]>}
// CHECK-NEXT:   %0 = chlo.lgamma %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}>}
// CHECK-NEXT:   %1 = sdy.sharding_constraint %arg1 <@grid, [{?}, {?}]> : tensor<8x4xf32>
// CHECK-NEXT:   %2:2 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %0) : tensor<i32>, tensor<8x4xf32>
// CHECK-NEXT:   cond {
// CHECK-NEXT:     %c = stablehlo.constant dense<false> : tensor<i1>
// CHECK:          %5 = stablehlo.multiply %iterArg_0, %1 : tensor<8x4xf32>
// CHECK:        %3 = stablehlo.sine %arg1 : tensor<8x4xf32>
// CHECK-NEXT:   return %2#1, %3 : tensor<8x4xf32>, tensor<8x4xf32>
// CHECK-NOT:  func.func private
