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
