// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Branches, loops, tuples and tokens.

func.func @main(%arg0: tensor<1xi1>, %arg1: tensor<8xf32>) {
  // expected-error @+2 {{operand should be rank 0 tensor but got rank 1}}
  // expected-error @+1 {{'stablehlo.if' op failed to infer returned types}}
  %0 = "stablehlo.if"(%arg0) ({
    "stablehlo.return"(%arg1) : (tensor<8xf32>) -> ()
  }, {
    "stablehlo.return"(%arg1) : (tensor<8xf32>) -> ()
  }) : (tensor<1xi1>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>, %arg2: tensor<2x3xf32>) {
  // expected-error @+2 {{branch 0 and branch 1 have mismatched return types: 'tensor<8xf32>' vs 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'stablehlo.if' op failed to infer returned types}}
  %0 = "stablehlo.if"(%arg0) ({
    "stablehlo.return"(%arg1) : (tensor<8xf32>) -> ()
  }, {
    "stablehlo.return"(%arg2) : (tensor<2x3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) {
  // expected-error @+2 {{branch 1 must have 0 arguments, but found 1}}
  // expected-error @+1 {{'stablehlo.if' op failed to infer returned types}}
  %0 = "stablehlo.if"(%arg0) ({
    "stablehlo.return"(%arg1) : (tensor<8xf32>) -> ()
  }, {
  ^bb0(%b0: tensor<8xf32>):
    "stablehlo.return"(%b0) : (tensor<8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i32>, %arg1: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.case' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'stablehlo.case' op failed to infer returned types}}
  %0 = "stablehlo.case"(%arg0) ({
    "stablehlo.return"(%arg1) : (tensor<8xf32>) -> ()
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.case' op operand #0 must be ranked tensor of 32-bit signless integer values, but got 'tensor<i1>'}}
  %0 = "stablehlo.case"(%arg0) ({
    "stablehlo.return"(%arg1) : (tensor<8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.case' op region #0 ('branches') failed to verify constraint: region with 1 blocks}}
  %0 = "stablehlo.case"(%arg0) ({
  }) : (tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+1 {{expect condition block return a zero-ranked tensor of i1 but got 'tensor<f32>'}}
  %0 = "stablehlo.while"(%arg0) ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+1 {{expect operands to be compatible with condition block arguments but got 'tensor<f32>' vs 'tensor<i32>'}}
  %0 = "stablehlo.while"(%arg0) ({
  ^bb0(%b0: tensor<i32>):
    "stablehlo.return"(%b0) : (tensor<i32>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+1 {{expect operands to be compatible with body block arguments but got 'tensor<f32>' vs 'tensor<i32>'}}
  %0 = "stablehlo.while"(%arg0) ({
  ^bb0(%b0: tensor<f32>):
    %c = stablehlo.compare LT, %b0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b0: tensor<i32>):
    "stablehlo.return"(%b0) : (tensor<i32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+1 {{expect operands to be compatible with body block return types but got 'tensor<f32>' vs }}
  %0 = "stablehlo.while"(%arg0) ({
  ^bb0(%b0: tensor<f32>):
    %c = stablehlo.compare LT, %b0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+1 {{expect condition body returns a single value but got 0}}
  %0 = "stablehlo.while"(%arg0) ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }, {
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.while' op inferred type(s) 'tensor<f32>' are incompatible with return type(s) of operation 'tensor<i32>'}}
  // expected-error @+1 {{'stablehlo.while' op failed to infer returned types}}
  %0 = "stablehlo.while"(%arg0) ({
  ^bb0(%b0: tensor<f32>):
    %c = stablehlo.compare LT, %b0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<f32>) -> tensor<i32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.while' op expected 2 regions}}
  %0 = "stablehlo.while"(%arg0) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.tuple' op result #0 must be nested tuple with any combination of ranked tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values or memref of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values or ranked tensor of per-axis integer quantized values or token values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.tuple"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.tuple' op inferred type(s) 'tuple<tensor<8xf32>>' are incompatible with return type(s) of operation 'tuple<tensor<2x3xf32>>'}}
  // expected-error @+1 {{'stablehlo.tuple' op failed to infer returned types}}
  %0 = "stablehlo.tuple"(%arg0) : (tensor<8xf32>) -> tuple<tensor<2x3xf32>>
  return
}

// -----

func.func @main(%arg0: tuple<tensor<8xf32>>) {
  // expected-error @+2 {{index 1 is out of bounds of operand with size 1}}
  // expected-error @+1 {{'stablehlo.get_tuple_element' op failed to infer returned types}}
  %0 = "stablehlo.get_tuple_element"(%arg0) <{index = 1 : i32}> : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tuple<tensor<8xf32>>) {
  // expected-error @+2 {{'stablehlo.get_tuple_element' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'stablehlo.get_tuple_element' op failed to infer returned types}}
  %0 = "stablehlo.get_tuple_element"(%arg0) <{index = 0 : i32}> : (tuple<tensor<8xf32>>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.get_tuple_element' op operand #0 must be nested tuple with any combination of ranked tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values or memref of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values or ranked tensor of per-axis integer quantized values or token values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.get_tuple_element"(%arg0) <{index = 0 : i32}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.optimization_barrier' op requires the same type for operand and result at index 0}}
  %0 = "stablehlo.optimization_barrier"(%arg0) : (tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.optimization_barrier' op requires the same number of operands and results}}
  %0:2 = "stablehlo.optimization_barrier"(%arg0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.after_all' op operand #0 must be variadic of token, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.after_all"(%arg0) : (tensor<8xf32>) -> !stablehlo.token
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'stablehlo.create_token' op result #0 must be token, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.create_token"() : () -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.return' op must be the last operation in the parent block}}
  "stablehlo.return"(%arg0) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.async_start' op region must contain exactly one operation and a return}}
  // expected-error @+1 {{'stablehlo.async_start' op failed to infer returned types}}
  %0 = "stablehlo.async_start"(%arg0) ({
  ^bb0(%b0: tensor<8xf32>):
    "stablehlo.return"(%b0) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.async_start' op region must contain a collective or slice operation}}
  // expected-error @+1 {{'stablehlo.async_start' op failed to infer returned types}}
  %0 = "stablehlo.async_start"(%arg0) ({
  ^bb0(%b0: tensor<8xf32>):
    %c = stablehlo.add %b0, %b0 : tensor<8xf32>
    "stablehlo.return"(%c) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.async_start' op inferred type(s) '!stablehlo.future<tensor<4xf32>>' are incompatible with return type(s) of operation '!stablehlo.future<tensor<8xf32>>'}}
  // expected-error @+1 {{'stablehlo.async_start' op failed to infer returned types}}
  %0 = "stablehlo.async_start"(%arg0) ({
  ^bb0(%b0: tensor<8xf32>):
    %c = stablehlo.slice %b0 [0:4] : (tensor<8xf32>) -> tensor<4xf32>
    "stablehlo.return"(%c) : (tensor<4xf32>) -> ()
  }) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
  return
}

// -----

func.func @main(%arg0: !stablehlo.future<tensor<8xf32>>) {
  // expected-error @+2 {{'stablehlo.async_done' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'stablehlo.async_done' op failed to infer returned types}}
  %0 = "stablehlo.async_done"(%arg0) : (!stablehlo.future<tensor<8xf32>>) -> tensor<2x3xf32>
  return
}
