// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Ops that work element by element: kinds of elements, and one shape for all.

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.cbrt' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.cbrt"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.ceil' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.ceil"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.cosine' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.cosine"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.exponential' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.exponential"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.exponential_minus_one' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.exponential_minus_one"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.floor' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.floor"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.log' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.log"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.log_plus_one' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.log_plus_one"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.logistic' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.logistic"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.round_nearest_afz' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.round_nearest_afz"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.round_nearest_even' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.round_nearest_even"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.rsqrt' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.rsqrt"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.sine' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.sine"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.sqrt' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.sqrt"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.tan' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.tan"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.tanh' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.tanh"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.count_leading_zeros' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.count_leading_zeros"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.popcnt' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.popcnt"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.not' op operand #0 must be ranked tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.not"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>) {
  // expected-error @+1 {{'stablehlo.negate' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi1>'}}
  %0 = "stablehlo.negate"(%arg0) : (tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>) {
  // expected-error @+1 {{'stablehlo.sign' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit signless integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi1>'}}
  %0 = "stablehlo.sign"(%arg0) : (tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.negate' op requires compatible types for all operands and results}}
  %0 = "stablehlo.negate"(%arg0) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.negate' op requires compatible types for all operands and results}}
  %0 = "stablehlo.negate"(%arg0) : (tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<?xf32, #stablehlo.bounds<4>>) {
  // expected-error @+1 {{'stablehlo.negate' op requires compatible types for all operands and results}}
  %0 = "stablehlo.negate"(%arg0) : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{Invalid tolerances for ResultAccuracyAttr with mode HIGHEST, must be all zero.}}
  %0 = "stablehlo.exponential"(%arg0) <{result_accuracy = #stablehlo.result_accuracy<ulps = 1, mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<8xi1>) {
  // expected-error @+1 {{'stablehlo.divide' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi1>'}}
  %0 = "stablehlo.divide"(%arg0, %arg1) : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<8xi1>) {
  // expected-error @+1 {{'stablehlo.power' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi1>'}}
  %0 = "stablehlo.power"(%arg0, %arg1) : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<8xi1>) {
  // expected-error @+1 {{'stablehlo.remainder' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi1>'}}
  %0 = "stablehlo.remainder"(%arg0, %arg1) : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<8xi1>) {
  // expected-error @+1 {{'stablehlo.subtract' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi1>'}}
  %0 = "stablehlo.subtract"(%arg0, %arg1) : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<8xi1>) {
  // expected-error @+1 {{'stablehlo.atan2' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi1>'}}
  %0 = "stablehlo.atan2"(%arg0, %arg1) : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.maximum' op requires compatible types for all operands and results}}
  %0 = "stablehlo.maximum"(%arg0, %arg1) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.minimum' op requires compatible types for all operands and results}}
  %0 = "stablehlo.minimum"(%arg0, %arg1) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.multiply' op requires compatible types for all operands and results}}
  %0 = "stablehlo.multiply"(%arg0, %arg1) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.shift_left' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.shift_left"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.shift_right_arithmetic' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.shift_right_arithmetic"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.shift_right_logical' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.shift_right_logical"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.and' op operand #0 must be ranked tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.and"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.or' op operand #0 must be ranked tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.or"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.xor' op operand #0 must be ranked tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.xor"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.add' op requires the same shape for all operands and results}}
  %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) {
  // expected-error @+1 {{op requires the same element type for all operands and results}}
  %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.add' op expected 2 operands, but found 1}}
  %0 = "stablehlo.add"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.add' op requires one result}}
  "stablehlo.add"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<?xf32, #stablehlo.bounds<4>>, %arg1: tensor<?xf32, #stablehlo.bounds<4>>) {
  // expected-error @+2 {{'stablehlo.add' op inferred type(s) 'tensor<?xf32, #stablehlo.bounds<4>>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @+1 {{'stablehlo.add' op failed to infer returned types}}
  %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<?xf32, #stablehlo.bounds<4>>, tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op all non-scalar operands/results must have the same shape and base type}}
  %0 = "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.abs' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<8xi32>'}}
  // expected-error @+1 {{'stablehlo.abs' op failed to infer returned types}}
  %0 = "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xcomplex<f32>>) {
  // expected-error @+1 {{'stablehlo.abs' op result #0 must be ranked tensor of 2/4/8/16/32/64-bit signless integer or 4/6/8/16/32/64-bit float or per-tensor integer quantized values, but got 'tensor<8xcomplex<f32>>'}}
  %0 = "stablehlo.abs"(%arg0) : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.real' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.real"(%arg0) : (tensor<8xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xcomplex<f32>>) {
  // expected-error @+2 {{'stablehlo.imag' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<8xf64>'}}
  // expected-error @+1 {{'stablehlo.imag' op failed to infer returned types}}
  %0 = "stablehlo.imag"(%arg0) : (tensor<8xcomplex<f32>>) -> tensor<8xf64>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.is_finite' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.is_finite"(%arg0) : (tensor<8xi32>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.is_finite' op result #0 must be ranked tensor of bool values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.is_finite"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.convert' op requires the same shape for all operands and results}}
  %0 = "stablehlo.convert"(%arg0) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: i32) {
  // expected-error @+1 {{'stablehlo.convert' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements values, but got 'i32'}}
  %0 = "stablehlo.convert"(%arg0) : (i32) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.reduce_precision' op all non-scalar operands/results must have the same shape and base type}}
  %0 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf64>) {
  // expected-error @+1 {{'stablehlo.complex' op requires the same element type for all operands}}
  %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf64>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.complex' op inferred type(s) 'tensor<8xcomplex<f32>>' are incompatible with return type(s) of operation 'tensor<8xcomplex<f64>>'}}
  // expected-error @+1 {{'stablehlo.complex' op failed to infer returned types}}
  %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xcomplex<f64>>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.compare' op all non-scalar operands/results must have the same shape and base type}}
  %0 = "stablehlo.compare"(%arg0, %arg1) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.compare' op requires compatible element types for all operands}}
  %0 = "stablehlo.compare"(%arg0, %arg1) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xi1>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.compare' op result #0 must be ranked tensor of bool values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.compare"(%arg0, %arg1) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<8xf32>, %arg2: tensor<f32>) {
  // expected-error @+2 {{min shape [4] is not scalar and is not compatible to operand shape [8]}}
  // expected-error @+1 {{'stablehlo.clamp' op failed to infer returned types}}
  %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<4xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>, %arg1: tensor<8xf32>, %arg2: tensor<4xf32>) {
  // expected-error @+2 {{max shape [4] is not scalar and is not compatible to operand shape [8]}}
  // expected-error @+1 {{'stablehlo.clamp' op failed to infer returned types}}
  %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<f32>, tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.clamp' op requires compatible element types for all operands and results}}
  %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<8xf32>, tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.clamp' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'stablehlo.clamp' op failed to infer returned types}}
  %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>, %arg2: tensor<4xf32>) {
  // expected-error @+2 {{requires compatible types for non-predicate operands}}
  // expected-error @+1 {{'stablehlo.select' op failed to infer returned types}}
  %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<8xi1>, tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xi1>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) {
  // expected-error @+2 {{requires the same shape for all operands}}
  // expected-error @+1 {{'stablehlo.select' op failed to infer returned types}}
  %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<4xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.select' op operand #0 must be ranked tensor of bool values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<8xi32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.select' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'stablehlo.select' op failed to infer returned types}}
  %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<i1>, tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.cross-replica-sum' op requires compatible types for all operands and results}}
  %0 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<8xf32>) -> tensor<4xf32>
  return
}
