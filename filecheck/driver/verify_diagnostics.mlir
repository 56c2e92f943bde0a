// RUN: sdy-opt %s --verify-diagnostics --split-input-file
// RUN: sdy-opt %s --verify-diagnostics=only-expected --split-input-file

// Where a diagnostic is expected: on the line, so many lines below or above, or next to other expectations.

func.func @f() -> tensor<f32> {
  return %missing : tensor<f32> // expected-error {{undeclared SSA value}}
}

// -----

func.func @f() -> tensor<f32> {
  // expected-error@+2 {{undeclared SSA value}}

  return %missing : tensor<f32>
}

// -----

func.func @f() -> tensor<f32> {
  return %missing : tensor<f32>

  // expected-error @-2 {{undeclared SSA value}}
}

// -----

func.func @f() -> tensor<f32> {
  // expected-error @below {{undeclared SSA value}}
  return %missing : tensor<f32>
}

// -----

func.func @f() -> tensor<f32> {
  return %missing : tensor<f32>
  // expected-error @above {{undeclared SSA value}}
}

// -----

func.func @f() -> tensor<f32> {
  // expected-error-re @+1 {{{{use of undeclared|undeclared}} SSA {{[a-z]+}} name}}
  return %missing : tensor<f32>
}
