// RUN: sdy-opt %s --split-input-file --xla-populate-expanded-op-rules --sdy-propagate-through-expanded-ops | filecheck %s

// Values after an op of chlo get its sharding; the result of the function, which is whole, stays so.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @forward(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = sdy.constant dense<0.000000e+00>
// CHECK-NEXT: %1 = chlo.square %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, sdy.sharding_rule
// CHECK-NEXT: %2 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x4xf32>
// CHECK-NEXT: %3 = stablehlo.reduce(%2 init: %0) applies stablehlo.add across dimensions = [0]
// CHECK-NEXT: %4 = stablehlo.add %3, %arg1
// CHECK-NEXT: return %4
func.func @forward(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = chlo.square %arg0 : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = stablehlo.negate %0 : tensor<8x4xf32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.add %2, %arg1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Values carried through a loop are sharded, too; those of calls are not.
// CHECK-LABEL: func.func @loop_and_call
// CHECK: %[[S:.*]] = chlo.sinh %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>
// CHECK: stablehlo.while(%iterArg = %[[S]]) : tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
// CHECK: call @callee(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-LABEL: func.func private @callee(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: stablehlo.negate %arg0 : tensor<8xf32>
func.func @loop_and_call(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i1>) -> tensor<8xf32> {
  %0 = chlo.sinh %arg0 : tensor<8xf32> -> tensor<8xf32>
  %1 = stablehlo.while(%iterArg = %0) : tensor<8xf32>
  cond {
    stablehlo.return %arg1 : tensor<i1>
  } do {
    %3 = stablehlo.negate %iterArg : tensor<8xf32>
    stablehlo.return %3 : tensor<8xf32>
  }
  %2 = call @callee(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func private @callee(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Nothing stops propagation here: constants and missing shardings stay as they are.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @unchanged
// CHECK-NEXT: %cst = stablehlo.constant
// CHECK-NEXT: chlo.square %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>
// CHECK-NEXT: stablehlo.custom_call @unknown(%0, %cst) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
func.func @unchanged(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = chlo.square %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32> -> tensor<8xf32>
  %1 = stablehlo.custom_call @unknown(%0, %cst) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
