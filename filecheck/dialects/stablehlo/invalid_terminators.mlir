// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Regions that end with another terminator than the one that their op implies.

func.func @main(%a: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.reduce' op expects regions to end with 'stablehlo.return', found 'sdy.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'stablehlo.return'}}
  %0 = "stablehlo.reduce"(%a,%c) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):
  "sdy.return"(%x) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%a: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.reduce_window' op expects regions to end with 'stablehlo.return', found 'sdy.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'stablehlo.return'}}
  %0 = "stablehlo.reduce_window"(%a,%c) <{window_dimensions = array<i64: 4>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):
  "sdy.return"(%x) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @main(%a: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.map' op expects regions to end with 'stablehlo.return', found 'sdy.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'stablehlo.return'}}
  %0 = "stablehlo.map"(%a,%a) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):
  "sdy.return"(%x) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%a: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.all_reduce' op expects regions to end with 'stablehlo.return', found 'sdy.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'stablehlo.return'}}
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):
  "sdy.return"(%x) : (tensor<f32>) -> () }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%a: tensor<4xf32>, %c: tensor<f32>) {
  %t = stablehlo.constant dense<true> : tensor<i1>
  // expected-error @+2 {{'stablehlo.if' op expects regions to end with 'stablehlo.return', found 'sdy.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'stablehlo.return'}}
  %0 = "stablehlo.if"(%t) ({ "sdy.return"(%c) : (tensor<f32>) -> () }, { "sdy.return"(%c) : (tensor<f32>) -> () }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @main(%a: tensor<4xf32>, %c: tensor<f32>) {
  %t = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @+2 {{'stablehlo.case' op expects regions to end with 'stablehlo.return', found 'sdy.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'stablehlo.return'}}
  %0 = "stablehlo.case"(%t) ({ "sdy.return"(%c) : (tensor<f32>) -> () }, { "sdy.return"(%c) : (tensor<f32>) -> () }) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @main(%a: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.while' op expects regions to end with 'stablehlo.return', found 'sdy.return'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'stablehlo.return'}}
  %0 = "stablehlo.while"(%c) ({ ^bb0(%x: tensor<f32>):
  %p = stablehlo.compare LT, %x, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
  "sdy.return"(%p) : (tensor<i1>) -> () }, { ^bb0(%x: tensor<f32>): "sdy.return"(%x) : (tensor<f32>) -> () }) : (tensor<f32>) -> tensor<f32>
  return
}
