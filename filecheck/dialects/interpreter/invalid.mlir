// RUN: sdy-opt %s --split-input-file --verify-diagnostics

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{'interpreter.print' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got '!stablehlo.token'}}
  interpreter.print %arg0 : !stablehlo.token
  return
}

// -----

func.func @main(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{'interpreter.probe' op requires the same type for all operands and results}}
  %0 = "interpreter.probe"(%arg0) {probe_id = "p"} : (tensor<2xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @main(%arg0: tensor<?xi32>) {
  // expected-error @+1 {{'interpreter.probe' op requires the same encoding for all operands and results}}
  %0 = "interpreter.probe"(%arg0) {probe_id = "p"} : (tensor<?xi32>) -> tensor<?xi32, #stablehlo.bounds<4>>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{`programs` attribute cannot be empty}}
  "interpreter.run_parallel"() {programs = []} : () -> ()
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{`programs` attribute cannot be empty}}
  "interpreter.run_parallel"() {programs = [[]]} : () -> ()
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'interpreter.run_parallel' op attribute 'programs' failed to satisfy constraint: Array of FlatSymbolRefArrayAttr}}
  "interpreter.run_parallel"() {programs = [@main]} : () -> ()
  return
}

// -----

func.func @f() {
  return
}
func.func @main() {
  // expected-error @+1 {{Sizes of second dimension of `programs` should all match 1 but got 2}}
  "interpreter.run_parallel"() {programs = [[@f], [@f, @f]]} : () -> ()
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{Function "f" not found}}
  "interpreter.run_parallel"() {programs = [[@f]]} : () -> ()
  return
}

// -----

func.func @f(%arg0: tensor<i32>) {
  return
}
func.func @main() {
  // expected-error @+1 {{Number of inputs (0) should match the sum of the number of inputs of all programs (2)}}
  "interpreter.run_parallel"() {programs = [[@f, @f]]} : () -> ()
  return
}

// -----

func.func @f() {
  return
}
func.func @main() {
  // expected-error @+1 {{Number of results (1) should match the sum of the number of results of all programs (0)}}
  %0 = "interpreter.run_parallel"() {programs = [[@f]]} : () -> tensor<i32>
  return
}

// -----

func.func @f() {
  return
}
func.func @main() {
  // expected-error @+1 {{infeed attribute is optional or should not be empty}}
  "interpreter.run_parallel"() {infeed = [], programs = [[@f]]} : () -> ()
  return
}

// -----

func.func @f() {
  return
}
func.func @main() {
  // expected-error @+1 {{Function "queue" not found}}
  "interpreter.run_parallel"() {infeed = [@queue], programs = [[@f]]} : () -> ()
  return
}

// -----

func.func @f() {
  return
}
func.func @main() {
  // expected-error @+1 {{Function "f" should return 1 tensor but returns 0}}
  "interpreter.run_parallel"() {infeed = [@f], programs = [[@f]]} : () -> ()
  return
}

// -----

func.func @f() {
  return
}
func.func @queue(%arg0: !stablehlo.token) -> !stablehlo.token {
  return %arg0 : !stablehlo.token
}
func.func @main() {
  // expected-error @+1 {{Function "queue" should return a tensor type, but instead returns '!stablehlo.token'}}
  "interpreter.run_parallel"() {infeed = [@queue], programs = [[@f]]} : () -> ()
  return
}
