// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Elementwise ops of CHLO, and top_k.

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo._asin_acos_kernel' op operand #0 must be tensor of complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo._asin_acos_kernel"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.acos' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.acos"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.acosh' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.acosh"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.asin' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.asin"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.asinh' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.asinh"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.atan' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.atan"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.atanh' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.atanh"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.bessel_i1e' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.bessel_i1e"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.conj' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.conj"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.cosh' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.cosh"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.sinh' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.sinh"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.square' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.square"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.tan' op operand #0 must be tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "chlo.tan"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.digamma' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.digamma"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.erf' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.erf"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.erf_inv' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.erf_inv"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.erfc' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.erfc"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.lgamma' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.lgamma"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.is_inf' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.is_inf"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.is_neg_inf' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.is_neg_inf"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.is_pos_inf' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.is_pos_inf"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'chlo.erf' op requires compatible types for all operands and results}}
  %0 = "chlo.erf"(%arg0) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'chlo.acos' op requires compatible types for all operands and results}}
  %0 = "chlo.acos"(%arg0) : (tensor<8xf32>) -> tensor<8xf16>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'chlo.is_inf' op all non-scalar operands/results must have the same shape and base type}}
  %0 = "chlo.is_inf"(%arg0) : (tensor<8xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.next_after' op requires compatible types for all operands and results}}
  %0 = "chlo.next_after"(%arg0, %arg1) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>, %arg1: tensor<8xi32>) {
  // expected-error @+1 {{'chlo.polygamma' op operand #0 must be tensor of 4/6/8/16/32/64-bit float values, but got 'tensor<8xi32>'}}
  %0 = "chlo.polygamma"(%arg0, %arg1) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'chlo.zeta' op requires compatible types for all operands and results}}
  %0 = "chlo.zeta"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+2 {{operand's rank must be at least 1}}
  // expected-error @+1 {{'chlo.top_k' op failed to infer returned types}}
  %0:2 = "chlo.top_k"(%arg0) <{k = 2 : i64}> : (tensor<f32>) -> (tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{operand's last dimension must be at least 9}}
  // expected-error @+1 {{'chlo.top_k' op failed to infer returned types}}
  %0:2 = "chlo.top_k"(%arg0) <{k = 9 : i64}> : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>)
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'chlo.top_k' op inferred type(s) 'tensor<2xf32>', 'tensor<2xi32>' are incompatible with return type(s) of operation 'tensor<8xf32>', 'tensor<8xi32>'}}
  // expected-error @+1 {{'chlo.top_k' op failed to infer returned types}}
  %0:2 = "chlo.top_k"(%arg0) <{k = 2 : i64}> : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>)
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.mulhi' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<4xf32>'}}
  %0 = "chlo.mulhi"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4x16xf32>, %arg1: tensor<2x16x8xf32>, %arg2: tensor<2xf32>) {
  // expected-error @+1 {{'chlo.ragged_dot' op operand #2 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<2xf32>'}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x16xf32>, tensor<2x16x8xf32>, tensor<2xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'chlo.top_k' op result #0 must be tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values, but got 'vector<4xf32>'}}
  %0:2 = "chlo.top_k"(%arg0) <{k = 3 : i64}> : (tensor<8xf32>) -> (vector<4xf32>, tensor<3xi32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'chlo.scan' op result #0 must be variadic of tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values, but got 'vector<2x8xf32>'}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%element: tensor<8xf32>, %carry: tensor<8xf32>):
    %sum = stablehlo.add %element, %carry : tensor<8xf32>
    stablehlo.return %sum, %sum : tensor<8xf32>, tensor<8xf32>
  }) : (tensor<2x8xf32>, tensor<8xf32>) -> (vector<2x8xf32>, tensor<8xf32>)
  return
}
