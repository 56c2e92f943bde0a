// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Constraints, reshards, data-flow edges, barriers, named computations.

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op sharding doesn't match tensor rank: 2 != 1}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.reshard' op unknown mesh: @other}}
  %0 = sdy.reshard %arg0 <@other, [{}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"a"}>}) {
  // expected-error @+1 {{'sdy.sharding_constraint' op cannot change the reduction operator of kept unreduced axes from max to sum.}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{}], unreduced={"a"}> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<?xf32>) {
  // expected-error @+1 {{'sdy.data_flow_edge' op expected sdy.data_flow_edge to have a static-shaped result. type: 'tensor<?xf32>'}}
  %0 = sdy.data_flow_edge %arg0 : tensor<?xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  // expected-error @+1 {{'sdy.data_flow_edge' op expected input of sdy.data_flow_edge to have a single user}}
  %1 = sdy.data_flow_edge %arg0 : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-note @+1 {{sdy op defining the input of the sdy.data_flow_edge}}
  %0 = sdy.reshard %arg0 <@mesh, [{}]> : tensor<8xf32>
  // expected-error @+1 {{'sdy.data_flow_edge' op expected input of sdy.data_flow_edge to not be defined by an SdyDialect op (other than an sdy.named_computation).}}
  %1 = sdy.data_flow_edge %0 : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.data_flow_edge' op sharding doesn't match tensor rank: 2 != 1}}
  %0 = sdy.data_flow_edge %arg0 sharding=<@mesh, [{}, {}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<?xf32>) {
  // expected-error @+1 {{'sdy.func_data_flow_edge' op expected sdy.func_data_flow_edge to have a static-shaped result. type: 'tensor<?xf32>'}}
  %0 = sdy.func_data_flow_edge %arg0 : tensor<?xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  // expected-error @+1 {{'sdy.func_data_flow_edge' op expected operand of sdy.func_data_flow_edge to have a single user}}
  %1 = sdy.func_data_flow_edge %arg0 : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  // expected-error @+1 {{'sdy.func_data_flow_edge' op expected operand of sdy.func_data_flow_edge to be a result of call op.}}
  %1 = sdy.func_data_flow_edge %0 : tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<f32>
  cond {
    // expected-error @+1 {{'sdy.func_data_flow_edge' op expected operand of sdy.func_data_flow_edge to be a block argument of a func op.}}
    %1 = sdy.func_data_flow_edge %iterArg : tensor<f32>
    %2 = stablehlo.compare LT, %1, %1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    stablehlo.return %iterArg : tensor<f32>
  }
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.propagation_barrier' op cannot specify `BOTH` as the direction. Not blocking propagation direction makes the op redundant.}}
  %0 = sdy.propagation_barrier %arg0 allowed_direction=BOTH : tensor<8xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+2 {{'sdy.constant' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'sdy.constant' op failed to infer returned types}}
  %0 = "sdy.constant"() <{value = dense<0.0> : tensor<8xf32>}> : () -> tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{number of block arguments must match the number of operands: 2 != 1}}
  %0 = sdy.named_computation<"f">(%arg0) (%arg1: tensor<8xf32>, %arg2: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'sdy.named_computation' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'sdy.named_computation' op failed to infer returned types}}
  %0 = sdy.named_computation<"f">(%arg0) (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.named_computation' op in_shardings - sharding doesn't match tensor rank: 2 != 1}}
  %0 = sdy.named_computation<"f">(%arg0) in_shardings=[<@mesh, [{}, {}]>] (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.named_computation' op out_shardings - unknown axis name: "x"}}
  %0 = sdy.named_computation<"f">(%arg0) out_shardings=[<@mesh, [{"x"}]>] (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4, "c"=8]>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.named_computation' op in_shardings shardings don't match number of values: 0 shardings vs 1 values}}
  %0 = sdy.named_computation<"f">(%arg0) in_shardings=[] (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{expected the type of the 0'th block argument to match the type of the corresponding operand: 'tensor<8xi32>' vs 'tensor<8xf32>'}}
  %0 = sdy.named_computation<"f">(%arg0) (%arg1: tensor<8xi32>) {
    %1 = stablehlo.convert %arg1 : (tensor<8xi32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.propagation_barrier' op requires the same type for all operands and results}}
  %0 = "sdy.propagation_barrier"(%arg0) <{allowed_direction = 1 : i32}> : (tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: f32) {
  // expected-error @+1 {{'sdy.func_data_flow_edge' op operand #0 must be shaped of any non-token type values, but got 'f32'}}
  %0 = sdy.func_data_flow_edge %arg0 : f32
  return
}

// -----

sdy.mesh @mesh = <["a"=2]>
func.func @main(%arg0: tensor<?xf32>) {
  // expected-error @+2 {{'sdy.reshard' op inferred type(s) 'tensor<?xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{'sdy.reshard' op failed to infer returned types}}
  %0 = "sdy.reshard"(%arg0) <{sharding = #sdy.sharding<@mesh, [{"a"}]>}> : (tensor<?xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2]>
func.func @main(%arg0: tensor<f32>) {
  // expected-error @+1 {{'sdy.all_slice' op requires the same type for all operands and results}}
  %0 = "sdy.all_slice"(%arg0) <{out_sharding = #sdy.sharding<@mesh, [{"a"}]>, slicing_axes = #sdy<list_of_axis_ref_lists[{"a"}]>}> : (tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.propagation_barrier' op attribute 'allowed_direction' failed to satisfy constraint: propagation direction enum}}
  %0 = "sdy.propagation_barrier"(%arg0) {allowed_direction = 7 : i32} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.constant' op attribute 'value' failed to satisfy constraint: constant vector/tensor attribute}}
  %0 = "sdy.constant"() {value = @main} : () -> tensor<8xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'sdy.constant' op result #0 must be statically shaped tensor of any non-token type values, but got 'tensor<?xf32>'}}
  %0 = "sdy.constant"() <{value = dense<0.0> : tensor<8xf32>}> : () -> tensor<?xf32>
  return
}

// -----

func.func @main(%arg0: f32) {
  // expected-error @+1 {{'sdy.sharding_group' op operand #0 must be ranked tensor of any non-token type values, but got 'f32'}}
  "sdy.sharding_group"(%arg0) <{group_id = 1 : i64}> : (f32) -> ()
  return
}
