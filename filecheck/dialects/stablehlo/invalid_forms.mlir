// What the forms of StableHLO and CHLO refuse, in MLIR's words.
//
// RUN: sdy-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.slice' expected integer value}}
  %0 = stablehlo.slice %a [0:2:] : (tensor<4xf32>) -> tensor<2xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected ':'}}
  %0 = stablehlo.slice %a [0] : (tensor<4xf32>) -> tensor<2xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.compare' expected ::mlir::stablehlo::ComparisonDirection to be one of: EQ, NE, GE, GT, LE, LT}}
  %0 = stablehlo.compare FOO, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.compare' expected valid keyword or string}}
  %0 = stablehlo.compare EQ, %a, %a, 3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.compare' expected valid keyword or string}}
  %0 = stablehlo.compare %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected ','}}
  %0 = stablehlo.add %a : tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{duplicate key 'x' in dictionary attribute}}
  %0 = stablehlo.add %a, %a {x = 1, x = 2} : tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected ':'}}
  %0 = stablehlo.add %a, %a tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected attribute value}}
  %0 = stablehlo.iota dim = foo : tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{floating point value not valid for specified type}}
  %0 = stablehlo.iota dim = 1.5 : tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.iota' invalid kind of attribute specified}}
  %0 = stablehlo.iota dim = "x" : tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.broadcast' expected integer value}}
  %0 = stablehlo.broadcast %a, sizes = [1, x] : (tensor<4xf32>) -> tensor<1x4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected '['}}
  %0 = stablehlo.broadcast %a, sizes = 1 : (tensor<4xf32>) -> tensor<1x4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.broadcast' expected 'sizes'}}
  %0 = stablehlo.broadcast %a, size = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.cholesky' expected 'lower'}}
  %0 = stablehlo.cholesky %a, upper = true : tensor<4x4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{integer constant out of range for attribute}}
  %0 = stablehlo.cholesky %a, lower = 3 : tensor<4x4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{expected ','}}
  %0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.dot_general' expected 'x'}}
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0], [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{custom op 'stablehlo.dot_general' expected 'algorithm'}}
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], precision = [DEFAULT], foo = 3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{expected ','}}
  %0 = stablehlo.dot_general %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.reduce' expected the inner-op to be a commutative binary-op from the stablehlo dialect, with zero region, producing single result}}
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.subtract across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected ':'}}
  %0 = stablehlo.reduce(%a init %i) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.reduce' number of operands and types do not match: got 2 operands and 1 types}}
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.reduce' expected the inner-op to be a commutative binary-op from the stablehlo dialect, with zero region, producing single result}}
  %0 = stablehlo.reduce(%a init: %i) applies foo across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.reduce' expected the inner-op to be a commutative binary-op from the stablehlo dialect, with zero region, producing single result}}
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.nope across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  %0 = stablehlo.reduce(%a init: %i) across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @+1 {{custom op 'stablehlo.reduce' expected 'reducer'}}
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.while' number of operands and types do not match: got 1 operands and 2 types}}
  %0 = stablehlo.while(%x = %a) : tensor<4x4xf32>, tensor<f32> cond { } do { }
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected ':'}}
  %0 = stablehlo.while(%x = %a) cond { } do { }
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected '='}}
  %0 = stablehlo.while(%x, %a) : tensor<f32> cond { } do { }
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.constant' invalid kind of attribute specified}}
  %0 = stablehlo.constant 3 : i32
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.custom_call' expected valid '@'-identifier for symbol name}}
  %0 = stablehlo.custom_call foo(%a) : (tensor<4x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected '('}}
  %0 = stablehlo.custom_call @foo %a : (tensor<4x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.custom_call' number of operands and types do not match: got 2 operands and 1 types}}
  %0 = stablehlo.custom_call @foo(%a, %i) : (tensor<4x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.custom_call' invalid kind of type specified: expected builtin.function, but found 'tensor<4x4xf32>'}}
  %0 = stablehlo.custom_call @foo(%a) : tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.convolution' Unexpected dimension q, expecting f}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f]x[i, o]->[b, q], window = {} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.convolution' Expected dimensions o not specified}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f]x[i]->[b, q], window = {} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.convolution' Expected spatial dimensions 0 not specified}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, 1]x[i, o]->[b, f], window = {} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.convolution' Duplicate entries for spatial dimension 0}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, 0, 0]x[i, o]->[b, f], window = {} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.convolution' Unexpected dimension -1}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, -1]x[i, o]->[b, f], window = {} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.convolution' Unexpected keyword foo}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, foo]x[i, o]->[b, f], window = {} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected '->'}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f]x[i, o]-[b, f], window = {} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected '['}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f]x[i, o]->[b, f], window = {stride = 1} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected attribute value}}
  %0, %1 = chlo.top_k(%a, k = x) : tensor<4x4xf32> -> (tensor<4x4xf32>, tensor<4x4xi32>)
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected '('}}
  %0, %1 = chlo.top_k(%a, k = 3) : tensor<4x4xf32> -> tensor<4x4xi32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected ','}}
  %0, %1 = chlo.top_k(%a, k = 3) : tensor<4x4xf32> -> (tensor<4x4xi32>)
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected '->'}}
  %0 = chlo.erf %a : tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected ','}}
  %0 = chlo.zeta %a, %a : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected '(' in operand list}}
  %0 = chlo.scan %a : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.reduce_precision' expected valid keyword}}
  %0 = stablehlo.reduce_precision %a, format = 3 : tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected attribute value}}
  %0 = stablehlo.get_tuple_element %a[x] : (tensor<4x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.rng_bit_generator' expected ::mlir::stablehlo::RngAlgorithm to be one of: DEFAULT, THREE_FRY, PHILOX}}
  %0 = stablehlo.rng_bit_generator %a, algorithm = FOO : (tensor<4x4xf32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected attribute value}}
  %0 = stablehlo.composite foo %a : (tensor<4x4xf32>) -> (tensor<f32>)
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected ':'}}
  stablehlo.optimization_barrier %a
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{custom op 'stablehlo.pad' expected 'high'}}
  %0 = stablehlo.pad %a, %i, low = [0, 0], hi = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected ','}}
  %0 = stablehlo.concatenate %a, %a dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{expected ','}}
  %0 = stablehlo.dynamic_slice %a, %i, %i sizes = [1, 1] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{custom op 'stablehlo.dynamic_slice' number of operands and types do not match: got 3 operands and 2 types}}
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 1] : (tensor<4x4xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}
