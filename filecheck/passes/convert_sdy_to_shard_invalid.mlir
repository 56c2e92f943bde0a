// RUN: sdy-opt %s --split-input-file --verify-diagnostics --convert-sdy-to-shard

sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{'stablehlo.negate' op has <@mesh, [{"x":(1)2}, {}]>; parts of axes and unreduced axes cannot be said in the dialect shard}}
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}, {}]>]>} : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// expected-error @+1 {{'sdy.mesh' op has <["x"=2], device_ids=[1, 0]>; a grid has axes and takes the devices in order}}
sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]>
