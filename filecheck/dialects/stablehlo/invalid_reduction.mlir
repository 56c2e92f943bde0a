// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Reductions: dimensions and windows, and what their bodies take and return.

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x2xf32>, %arg2: tensor<f32>, %arg3: tensor<f32>) {
  // expected-error @+1 {{expects all inputs to have compatible shapes. Shape at input-index 1 is not compatible with shape at input-index 0}}
  %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>, %b2: tensor<f32>, %b3: tensor<f32>):
    "stablehlo.return"(%b0, %b1) : (tensor<f32>, tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{Out-of-bounds dimension 2, expected to be in range [0, 2)}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{Duplicate reduction dimension: 1}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1, 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.reduce' op inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error @+1 {{'stablehlo.reduce' op failed to infer returned types}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{Reduction-region must take 2 parameters, but takes 1 parameter(s)}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{The reduction-region expected to return some value(s)}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{Reduction-region here must produce 1 tensors, but produces 2 instead}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0, %b1) : (tensor<f32>, tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{The type of reduction-region's parameter at index 0 is different than the corresponding result type: 'tensor<i32>' vs 'tensor<f32>'}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<i32>, %b1: tensor<f32>):
    "stablehlo.return"(%b1) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{The type of reduction-region's parameter at index 1 is different than the corresponding result type: 'tensor<i32>' vs 'tensor<f32>'}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<i32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2xf32>) {
  // expected-error @+1 {{The shape of reduction-region's result type at index 0 differs from the op's corresponding init-value type: 'tensor<f32>' vs 'tensor<2xf32>'}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<i32>) {
  // expected-error @+1 {{The element-type of reduction-region's result type at index 0 is expected to be promotable from the op's corresponding init-value element-type: 'tensor<f32>' vs 'tensor<i32>'}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xi32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{The element-type of reduction-region's argument at index 1 is expected to be promotable from 'i32', but got 'f32'}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xi32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) {
  // expected-error @+1 {{The rank of reduction-region's argument at index 1 is expected to be <= 1, got 2}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<2x3xf32>, %b1: tensor<2x3xf32>):
    "stablehlo.return"(%b0) : (tensor<2x3xf32>) -> ()
  }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) {
  // expected-error @+1 {{The shape of reduction-region's argument at index 1 is not compatible with that of reduce-op's input-parameter at index 0}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<3xf32>, %b1: tensor<3xf32>):
    "stablehlo.return"(%b0) : (tensor<3xf32>) -> ()
  }) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op requires one region}}
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects window-dimensions size == input rank, but got window-dimensions size: 1 and input: 'tensor<2x3xf32>' with rank = 2.}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects window to have positive value for 1-th window dimension, but got 0.}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 0>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects window-strides to have same dimension-size as size of window dimensions (2), but got: 1.}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects window to have positive base dilation factor for 1-th window dimension, but got 0.}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: 1, 0>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects window to have positive window dilation factor for 0-th window dimension, but got 0.}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 1>, window_dilations = array<i64: 0, 1>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects padding-entries to have same dimension-size as size of window dimensions (2), but got: 1.}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 1>, padding = dense<0> : tensor<1x2xi64>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects the shape of padding-attribute to be {N, 2}, but got {2}.}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 1>, padding = dense<0> : tensor<2xi64>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.reduce_window' op inferred type(s) 'tensor<1x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'stablehlo.reduce_window' op failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{Reduction-region must take 2 parameters, but takes 1 parameter(s)}}
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) {
  // expected-error @+1 {{expects the select-region to take 2 parameters, but takes 1}}
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) {
  // expected-error @+1 {{expects the type of select-region's parameter at index 1 to be 'tensor<f32>', but got 'tensor<i32>'}}
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<i32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) {
  // expected-error @+1 {{expects select-region to return single value, but got: 0}}
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }, {
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) {
  // expected-error @+1 {{expects the return-type of select-region to be tensor<i1>, but got: 'tensor<f32>'}}
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) {
  // expected-error @+1 {{expects window-dimensions size == operand rank, but got window-dimensions size: 2 and operand-type: 'tensor<8xf32>' with rank = 1.}}
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    %c = stablehlo.compare GE, %b0, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<5xf32>, %arg2: tensor<f32>) {
  // expected-error @+1 {{expects source-type to be 'tensor<4xf32>', but got'tensor<5xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    %c = stablehlo.compare GE, %b0, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<5xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.select_and_scatter' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'stablehlo.select_and_scatter' op failed to infer returned types}}
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    %c = stablehlo.compare GE, %b0, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{expects number of operands to match the arity of map computation, but got: 1 and 2}}
  // expected-error @+1 {{'stablehlo.map' op failed to infer returned types}}
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{computation arguments must be 0-rank tensor, but got: arg #0 of type 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.map' op failed to infer returned types}}
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%b0: tensor<8xf32>):
    "stablehlo.return"(%b0) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{element type of operands and computation arguments must match, but got: 'f32' and 'i32'}}
  // expected-error @+1 {{'stablehlo.map' op failed to infer returned types}}
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%b0: tensor<i32>):
    "stablehlo.return"(%b0) : (tensor<i32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{computation must return single output, but got: 0}}
  // expected-error @+1 {{'stablehlo.map' op failed to infer returned types}}
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{requires monotonically increasing dimension numbers, but got: 1}}
  // expected-error @+1 {{'stablehlo.map' op failed to infer returned types}}
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 1>}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+2 {{applied to a subset of dimensions currently not supported: operand dimensions = 2, requested map dimensions size = 1}}
  // expected-error @+1 {{'stablehlo.map' op failed to infer returned types}}
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.map' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<8xi32>'}}
  // expected-error @+1 {{'stablehlo.map' op failed to infer returned types}}
  %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{dimension attribute value must be in range [-1, 1), but found 1}}
  %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    %c = stablehlo.compare LT, %b0, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{comparator block should have 2 arguments}}
  %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{comparator block argument #1 should be of type 'tensor<f32>' but got 'tensor<i32>'}}
  %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<i32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{comparator must return tensor<i1> but got 'tensor<f32>'}}
  %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{comparator must return single output but got 0}}
  %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.sort' op requires the same shape for all operands and results}}
  %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    %c = stablehlo.compare LT, %b0, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.sort' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<8xi32>'}}
  // expected-error @+1 {{'stablehlo.sort' op failed to infer returned types}}
  %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    %c = stablehlo.compare LT, %b0, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2xf32>) {
  // expected-error @+2 {{expects single-dimensional operands to have compatible shapes.}}
  // expected-error @+1 {{'stablehlo.batch_norm_training' op failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) {
  // expected-error @+2 {{expects featureIndex to be smaller than the rank of multi-dimensional operands; got featureIndex 2, and rank 2.}}
  // expected-error @+1 {{'stablehlo.batch_norm_training' op failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 0.1 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) {
  // expected-error @+2 {{expects the size of single-dimensional operands to be compatible with feature count, but the size of single-dimensional operands is 2 and the feature count is 3.}}
  // expected-error @+1 {{'stablehlo.batch_norm_training' op failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) {
  // expected-error @+2 {{'stablehlo.batch_norm_training' op inferred type(s) 'tensor<2x3xf32>', 'tensor<3xf32>', 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>', 'tensor<2xf32>', 'tensor<3xf32>'}}
  // expected-error @+1 {{'stablehlo.batch_norm_training' op failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) {
  // expected-error @+2 {{'stablehlo.batch_norm_inference' op inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<3x2xf32>'}}
  // expected-error @+1 {{'stablehlo.batch_norm_inference' op failed to infer returned types}}
  %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) {
  // expected-error @+1 {{'stablehlo.batch_norm_inference' op operand #1 must be 1D tensor of 4/6/8/16/32/64-bit float or per-tensor integer quantized values, but got 'tensor<2x3xf32>'}}
  %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3x2xf32>) {
  // expected-error @+2 {{expects multi-dimensional operands to have compatible shapes.}}
  // expected-error @+1 {{'stablehlo.batch_norm_grad' op failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<2x3xf32>) {
  // expected-error @+2 {{'stablehlo.batch_norm_grad' op inferred type(s) 'tensor<2x3xf32>', 'tensor<3xf32>', 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>', 'tensor<2xf32>', 'tensor<3xf32>'}}
  // expected-error @+1 {{'stablehlo.batch_norm_grad' op failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2xf32>) {
  // expected-error @+1 {{Reduction-region must take 0 parameters, but takes 2 parameter(s)}}
  "stablehlo.reduce"(%arg0) <{dimensions = array<i64>}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2xf32>) -> ()
  return
}
