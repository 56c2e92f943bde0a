// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Shardings of arguments, results and ops: mesh, rank, axes, priorities.

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - unknown mesh: @other}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@other, [{}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - sharding doesn't match tensor rank: 1 != 2}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - dim 1 is empty and closed but has a priority}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}p1]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - unknown axis name: "x"}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - duplicate axis ref: "a"}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {"a"}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - replicated axes are not ordered w.r.t. mesh}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], replicated={"b", "a"}>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - unreduced axes are not ordered w.r.t. mesh}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"b", "a"}>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - duplicate axis ref: "a"}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}], replicated={"a"}>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - duplicate axis ref: "a"}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}], unreduced={"a"}>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - unknown axis name: "x"}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], replicated={"x"}>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - two consecutive sub-axes can be merged: "c":(1)2, "c":(2)2}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(1)2, "c":(2)2}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - both sub-axis and full-axis are used for axis name: "c"}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(1)2}, {"c"}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - sub-axis pre-size must be at least 1: "c":(0)2}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(0)2}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - sub-axis sizes must be greater than 1: "c":(2)1}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(2)1}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - sub-axis next pre-size 3 doesn't divide the size of the full axis 8: "c":(1)3}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(1)3}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - sub-axis size is equal to the full axis size: "c":(1)8}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(1)8}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - overlapping sub-axes: "c":(1)4, "c":(2)4}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(1)4}, {"c":(2)4}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - duplicate axis ref: "c":(2)2}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"c":(2)2}, {}], replicated={"c":(2)2}>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result shardings don't match number of values: 2 shardings vs 1 values}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @one = <[], device_ids=[3]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op result - a single-device sharding can only have a sharding with rank 0 and no replicated or unreduced axes.}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@one, [{}, {}]>]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op should have a sharding attribute of type TensorShardingPerValueAttr}}
  %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} : tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
// expected-error @+1 {{'func.func' op arg 0 - should have a sharding attribute of type TensorShardingAttr}}
func.func @main(%arg0: tensor<2x3xf32> {sdy.sharding = #sdy.sharding_per_value<[]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
// expected-error @+1 {{'func.func' op arg 0 - unknown axis name: "x"}}
func.func @main(%arg0: tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
// expected-error @+1 {{'func.func' op result 1 - sharding doesn't match tensor rank: 1 != 2}}
func.func @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return %arg0, %arg0 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
// expected-error @+1 {{'func.func' op arg 0 - non-shaped tensors can only have a sharding with rank 0 and no replicated or unreduced axes. type: '!stablehlo.token', sharding: #sdy.sharding<@mesh, [{}]>}}
func.func @main(%arg0: !stablehlo.token {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
// expected-error @+1 {{'func.func' op arg 0 - only ranked tensors can have a sharding. type: 'tensor<*xf32>'}}
func.func @main(%arg0: tensor<*xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op result - ops can only have a sharding for a tuple of size 1: 'tuple<tensor<8xf32>, tensor<8xf32>>'}}
  %0 = stablehlo.custom_call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op result 1 - unknown axis name: "x"}}
  %0:2 = stablehlo.custom_call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op should have a propagation edges attribute of type PropagationEdgesAttr for attr named 'sdy.propagation_edges'}}
  %0 = stablehlo.abs %arg0 {sdy.propagation_edges = 1 : i64} : tensor<8xf32>
  return
}
