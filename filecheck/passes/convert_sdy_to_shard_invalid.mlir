// RUN: sdy-opt %s --split-input-file --verify-diagnostics --convert-sdy-to-shard

sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{'stablehlo.negate' op has <@mesh, [{"x":(1)2}, {}]>; sub-axes and unreduced axes are not representable in the dialect shard}}
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}, {}]>]>} : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]>
// expected-error @+1 {{'func.func' op has a sharding on <["x"=2], device_ids=[1, 0]>: expected a mesh with axes and without an order of devices}}
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.sharding_group' op is not representable in the dialect shard}}
  sdy.sharding_group %arg0 group_id=1 : tensor<8xf32>
  return
}

// -----

sdy.mesh @one = <[], device_ids=[0]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op has a sharding on <[], device_ids=[0]>: expected a mesh with axes}}
  stablehlo.custom_call @callback(%arg0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8xf32>) -> ()
  return
}
