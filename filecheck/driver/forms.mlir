// RUN: sdy-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s --check-prefix=PRETTY
// RUN: sdy-opt - --mlir-print-debuginfo < %s | filecheck %s --check-prefix=DEBUG
// RUN: sdy-opt %s -o %t && filecheck %s --check-prefix=PRETTY < %t

// GENERIC: "func.func"()
// GENERIC: "func.return"
// PRETTY:  func.func @main(%arg0: tensor<f32>) -> tensor<f32>
// PRETTY:    return %arg0 : tensor<f32>
// DEBUG:   "<stdin>":[[# @LINE + 1]]:1
func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
  return %arg0 : tensor<f32>
}
