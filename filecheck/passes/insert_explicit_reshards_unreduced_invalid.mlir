// RUN: sdy-opt %s --sdy-insert-explicit-reshards --split-input-file --verify-diagnostics

// Unreduced axes that cannot be brought together: the message names the op.

sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>, %c: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.reduce' op Unreduced axes mismatch between results for multi-result op.}}
  %0:2 = stablehlo.reduce(%arg0 init: %c), (%arg1 init: %c) across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>, <@mesh, [{}], unreduced={"y"}>]>} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<f32>, %e: tensor<f32>) {
     %1 = stablehlo.add %a, %b : tensor<f32>
     %2 = stablehlo.add %d, %e : tensor<f32>
     stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
   }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @other = <["x"=2, "y"=2], device_ids=[3,2,1,0]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{}, {}], unreduced={"x"}>}) {
  // expected-error @+1 {{'stablehlo.transpose' op source and user shardings have different meshes for unreduced axes.}}
  %0 = stablehlo.transpose %arg0, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@other, [{}, {}], unreduced={"x"}>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @other = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{}, {}], unreduced={"x"}>}) {
  // expected-error @+1 {{'func.return' op source and user shardings have different meshes for unreduced axes.}}
  return %arg0 : tensor<8x8xf32>
}
