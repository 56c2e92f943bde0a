// RUN: sdy-opt %s --sdy-convert-global-to-local --split-input-file --verify-diagnostics

sdy.mesh @mesh = <["x"=2, "y"=4]>

// expected-error @+1 {{'func.func' op dimension 0 of tensor<7xf32> with sharding <@mesh, [{"x"}]>: expected a size divisible by 2, got 7; run sdy-pad-for-divisibility before}}
func.func @uneven(%arg0: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>

func.func @moved(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // expected-error @+2 {{'sdy.reshard' op a change of the sharding from <@mesh, [{"x"}]> to <@mesh, [{"y"}]> is unsupported; run sdy-reshard-to-collectives before}}
  // expected-error @+1 {{failed to legalize operation 'sdy.reshard' that was explicitly marked illegal}}
  %0 = sdy.reshard %arg0 <@mesh, [{"y"}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>

func.func @shifted(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // expected-error @+2 {{'stablehlo.slice' op a slice of sharded dimension 0 that needs elements of other devices is unsupported; run sdy-resolve-permutation-factors before}}
  // expected-error @+1 {{failed to legalize operation}}
  %0 = stablehlo.slice %arg0 [1:7] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>

func.func @part_of_an_update(%arg0: tensor<8xf32>, %arg1: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg2: tensor<i32>) {
  // expected-error @+2 {{'stablehlo.dynamic_update_slice' op an update sharded along sliced dimensions [0] is unsupported; run sdy-insert-explicit-reshards with enable-full-version before}}
  // expected-error @+1 {{failed to legalize operation}}
  %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2 : (tensor<8xf32>, tensor<4xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>

func.func @update_of_a_whole_operand(%arg0: tensor<8x4xf32>, %arg1: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg2: tensor<i32>) {
  // expected-error @+2 {{'stablehlo.dynamic_update_slice' op dimension 1: expected the same axes in the operand and the update, got {} and {"x"}; run sdy-insert-explicit-reshards with enable-full-version before}}
  // expected-error @+1 {{failed to legalize operation}}
  %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  return
}
