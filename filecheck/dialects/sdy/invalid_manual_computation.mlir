// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Manual computations: the invariants of the sharding API.

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op operand shardings don't match number of values: 2 shardings vs 1 values}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>, <@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op result shardings don't match number of values: 0 shardings vs 1 values}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op operand - sharding doesn't match tensor rank: 1 != 2}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op operand - unknown mesh: @other}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@other, [{}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op result - unknown axis name: "x"}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op number of op operands and region operands must match. Op has 1 op operands and 2 region operands}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>, %arg2: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op number of op results and region results must match. Op has 1 op results and 2 region results}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1, %arg1 : tensor<4x16xf32>, tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op operand sharding at index 0 must have all manual axes come before free axes in its dimension sharding at index 0. Saw manual axis "a" after free axis "b"}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"b", "a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<7x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op operand dimension size 7 is not divisible by the manual axes size 2}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<7x16xf32>) -> tensor<7x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op operand shape, corresponding sharding, and region operand shape at index 0 must match. Expected local shape 'tensor<4x16xf32>', actual local shape 'tensor<8x16xf32>'}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<8x16xf32>) {
    sdy.return %arg1 : tensor<8x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op result shape, corresponding sharding, and region result shape at index 0 must match. Expected local shape 'tensor<8x8xf32>', actual local shape 'tensor<4x16xf32>'}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{}, {"a"}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op all in and out shardings must be bound to the same mesh or an empty mesh.}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<mesh<["a"=2]>, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op unknown manual axis: "x"}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}], replicated={"a"}>] out_shardings=[<@mesh, [{}, {}], replicated={"a"}>] manual_axes={"x"} (%arg1: tensor<8x16xf32>) {
    sdy.return %arg1 : tensor<8x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-note @+1 {{parent bounding this axis as manual}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    // expected-error @+1 {{'stablehlo.abs' op result - operates on axis "a" which is already bound by a parent sdy.manual_computation op}}
    %1 = stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} : tensor<4x16xf32>
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-note @+1 {{parent bounding this axis as manual}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    // expected-error @+1 {{'sdy.sharding_constraint' op operates on axis "a" which is already bound by a parent sdy.manual_computation op}}
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{}, {}], replicated={"a"}> : tensor<4x16xf32>
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-note @+1 {{parent bounding this axis as manual}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x16xf32>) {
    // expected-error @+1 {{'sdy.manual_computation' op operates on axis "a" which is already bound by a parent sdy.manual_computation op}}
    %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"a"} (%arg2: tensor<4x16xf32>) {
      sdy.return %arg2 : tensor<4x16xf32>
    } : (tensor<4x16xf32>) -> tensor<4x16xf32>
    sdy.return %arg1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{'sdy.manual_computation' op operand - non-shaped tensors can only have a sharding with rank 0 and no replicated or unreduced axes. type: '!stablehlo.token', sharding: #sdy.sharding<@mesh, [{"a"}]>}}
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%arg1: !stablehlo.token) {
    sdy.return %arg1 : !stablehlo.token
  } : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'sdy.manual_computation' op expects region #0 to have 0 or 1 blocks}}
  %0 = "sdy.manual_computation"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>}> ({
  ^bb0(%a: tensor<8xf32>):
    sdy.return %a : tensor<8xf32>
  ^bb1(%b: tensor<8xf32>):
    sdy.return %b : tensor<8xf32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'sdy.named_computation' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  %0 = "sdy.named_computation"(%arg0) <{name = "f"}> ({}) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
