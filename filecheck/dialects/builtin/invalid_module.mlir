// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Modules and their symbols; functions, calls and returns; order of definitions and uses.

// expected-error @+1 {{'builtin.module' op can only contain attributes with dialect-prefixed names, found: 'a'}}
module attributes {a = 1 : i64} {
}

// -----

// expected-note @+1 {{see existing symbol definition here}}
func.func private @f()
// expected-error @+1 {{redefinition of symbol named 'f'}}
func.func private @f()

// -----

// expected-error @+1 {{'func.func' op symbol declaration cannot have public visibility}}
func.func @f()

// -----

// expected-error @+1 {{'func.func' op arguments may only have dialect attributes}}
func.func @main(%arg0: tensor<8xf32> {a = 1 : i64}) {
  return
}

// -----

// expected-error @+1 {{'func.func' op results may only have dialect attributes}}
func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32> {a}) {
  return %arg0 : tensor<8xf32>
}

// -----

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'func.return' op has 0 operands, but enclosing function (@main) returns 1}}
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{type of return operand 0 ('tensor<8xf32>') doesn't match function result type ('tensor<2x3xf32>') in function @main}}
  return %arg0 : tensor<8xf32>
}

// -----

func.func @f(%arg0: tensor<8xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{type of return operand 0 ('tensor<8xf32>') doesn't match function result type ('tensor<2x3xf32>') in function @f}}
  return %arg0 : tensor<8xf32>
}
func.func @g(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'func.return' op has 0 operands, but enclosing function (@g) returns 1}}
  return
}

// -----

// expected-error @+1 {{'func.func' op entry block must have 1 arguments to match function signature}}
"func.func"() <{function_type = (tensor<8xf32>) -> (), sym_name = "f"}> ({
^bb0:
  func.return
}) : () -> ()

// -----

// expected-error @+1 {{'func.func' op type of entry block argument #0('tensor<2x3xf32>') must match the type of the corresponding argument in function signature('tensor<8xf32>')}}
"func.func"() <{function_type = (tensor<8xf32>) -> (), sym_name = "f"}> ({
^bb0(%arg0: tensor<2x3xf32>):
  func.return
}) : () -> ()

// -----

// expected-error @+1 {{'func.func' op expects argument attribute array to have the same number of elements as the number of function arguments, got 0, but expected 1}}
"func.func"() <{function_type = (tensor<8xf32>) -> (), sym_name = "f", arg_attrs = []}> ({
^bb0(%arg0: tensor<8xf32>):
  func.return
}) : () -> ()

// -----

// expected-error @+1 {{'func.func' op attribute 'function_type' failed to satisfy constraint: type attribute of function type}}
"func.func"() <{function_type = i32, sym_name = "f"}> ({
}) : () -> ()

// -----

// expected-error @+1 {{'func.func' op requires attribute 'sym_name'}}
"func.func"() <{function_type = () -> ()}> ({
}) : () -> ()

// -----

// expected-error @+1 {{'func.func' op requires one region}}
"func.func"() <{function_type = () -> (), sym_name = "f"}> ({
}, {
}) : () -> ()

// -----

func.func @f() {
  // expected-error @+1 {{'func.func' op symbol's parent must have the SymbolTable trait}}
  "func.func"() <{function_type = () -> (), sym_name = "g"}> ({
    func.return
  }) : () -> ()
  return
}

// -----

func.func private @f(tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op 'g' does not reference a valid function}}
  call @g(%arg0) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func private @f(tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op incorrect number of operands for callee: expected 1, but got 2}}
  call @f(%arg0, %arg0) : (tensor<8xf32>, tensor<8xf32>) -> ()
  return
}

// -----

func.func private @f(tensor<2x3xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op operand type mismatch: expected operand type 'tensor<2x3xf32>', but provided 'tensor<8xf32>' for operand number 0}}
  call @f(%arg0) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func private @f(tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op incorrect number of results for callee: expected 0, but got 1}}
  %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @f(tensor<8xf32>) -> tensor<2x3xf32>
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+3 {{'func.call' op result type mismatch at index 0}}
  // expected-note @+2 {{      op result types: 'tensor<8xf32>'}}
  // expected-note @+1 {{function result types: 'tensor<2x3xf32>'}}
  %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @f()
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op attribute 'callee' failed to satisfy constraint: flat symbol reference attribute}}
  "func.call"() {callee = 1 : i64} : () -> ()
  return
}

// -----

module {
  // expected-error @+1 {{'func.return' op expects parent op 'func.func'}}
  func.return
}

// -----

func.func @main() {
  // expected-error @+1 {{'func.return' op must be the last operation in the parent block}}
  return
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{block with no terminator, has %0 = "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>}}
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
}

// -----

func.func @main() {
  // expected-error @+1 {{operand #0 does not dominate this use}}
  %0 = stablehlo.abs %1 : tensor<8xf32>
  // expected-note @+1 {{operand defined here (op in the same block)}}
  %1 = stablehlo.abs %0 : tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i32>) {
  // expected-note @+1 {{operand defined here (op in a parent region)}}
  %0 = "stablehlo.case"(%arg0) ({
    // expected-error @+1 {{operand #0 does not dominate this use}}
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'sym_name' failed to satisfy constraint: string attribute}}
"builtin.module"() ({
^bb0:
}) {sym_name = dense<[0, 1]> : tensor<2xi65>} : () -> ()

// -----

// expected-error @+1 {{'builtin.module' op result 0 - unknown mesh: @mesh}}
"builtin.module"() {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>} : () -> ()

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.add' op expected 2 operands, but found 1}}
  %0 = "stablehlo.add"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op requires one result}}
  "stablehlo.abs"(%arg0) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.transpose' op requires attribute 'permutation'}}
  %0 = "stablehlo.transpose"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.transpose' op attribute 'permutation' failed to satisfy constraint: i64 dense array attribute}}
  %0 = "stablehlo.transpose"(%arg0) {permutation = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{'builtin.module' op expects region #0 to have 0 or 1 blocks}}
module {
  func.func private @f()
^bb1:
  func.func private @g()
}

// -----

// expected-error @+1 {{'builtin.module' op region #0 ('bodyRegion') failed to verify constraint: region with 1 blocks}}
"builtin.module"() ({}) : () -> ()
