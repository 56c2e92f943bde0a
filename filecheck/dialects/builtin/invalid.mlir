// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{operation being parsed with an unregistered dialect. If this is intended, please use -allow-unregistered-dialect with the MLIR tool used}}
"other.op"() : () -> ()

// -----

func.func @f(%a: i32) -> i32 {
  // expected-error @+1 {{use of undeclared SSA value name}}
  return %b : i32
}

// -----

// expected-error @+1 {{expected attribute value}}
module attributes {a.b = } {}

// -----

// expected-error @+1 {{invalid tensor element type}}
func.func private @f(tensor<2xtensor<f32>>)

// -----

// expected-error @+1 {{integer constant out of range for attribute}}
module attributes {a.b = 300 : i8} {}

// -----

func.func @no_properties(%a: tensor<8xf32>) {
  // expected-error @+1 {{invalid properties {foo = 3 : i64} for op stablehlo.negate: this operation has empty properties}}
  %0 = "stablehlo.negate"(%a) <{foo = 3}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @no_properties(%a: tensor<8xf32>) {
  // expected-error @+1 {{invalid properties {} for op stablehlo.negate: this operation has empty properties}}
  %0 = "stablehlo.negate"(%a) <{}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{expected integer line number in FileLineColRange}}
module {} loc("f":4294967296:1)

// -----

// expected-error @+1 {{expected integer column number in FileLineColRange}}
module {} loc("f":1:1 to :4294967296)
