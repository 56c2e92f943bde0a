// RUN: sdy-opt %s --split-input-file --verify-diagnostics

func.func @unknown(%arg0: tensor<4xf32>) {
  // expected-note@+2 {{Available dialects: builtin}}
  // expected-error@+1 {{Dialect `mhlo' not found for custom op 'mhlo.fusion'}}
  %0 = mhlo.fusion %arg0 : tensor<4xf32>
  return
}

// -----

func.func @unknown_entry(%arg0: tensor<4xf32>) {
  // expected-error@+1 {{expected 'k = N' or 'largest = true'}}
  %0:2 = mhlo.topk(%arg0, smallest=true) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return
}
