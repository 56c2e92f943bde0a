// RUN: not sdy-opt %s 2>&1 | filecheck %s
// RUN: sdy-opt %s --verify-diagnostics --split-input-file

// CHECK:      diagnostics.mlir:[[# @LINE + 4]]:10: error: {{.*}}undeclared SSA value
// CHECK-NEXT: {{^}}  return %missing : tensor<f32>
// CHECK-NEXT: {{^}}         ^
func.func @main() -> tensor<f32> {
  return %missing : tensor<f32> // expected-error {{undeclared SSA value}}
}
