// RUN: sdy-opt %s --split-input-file --verify-diagnostics --xla-sdy-import-shardings

func.func @main(%arg0: tensor<8x8xf32>) {
  // expected-error @+1 {{'stablehlo.negate' op invalid sharding '{devices=[2,4]<=[8]T(1,0)}' at character 20: expected an order of several dimensions: '[8]' or '[4,2]T(1,0)'}}
  %0 = stablehlo.negate %arg0 {mhlo.sharding = "{devices=[2,4]<=[8]T(1,0)}"} : tensor<8x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8x8xf32>) {
  // expected-error @+1 {{'stablehlo.negate' op {devices=[8]<=[8]}: expected rank 2 of the tensor, got rank 1}}
  %0 = stablehlo.negate %arg0 {mhlo.sharding = "{devices=[8]<=[8]}"} : tensor<8x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8x8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op mhlo.sharding: expected 2 shardings, got 3 in {{replicated}, {replicated}, {devices=[8]<=[8]}}}}
  %0:2 = stablehlo.custom_call @two(%arg0) {mhlo.sharding = "{{replicated}, {replicated}, {devices=[8]<=[8]}}"} : (tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// expected-error @+1 {{'func.func' op arg 0 - invalid sharding 'replicated' at character 1: expected '{', got 'replicated'}}
func.func @main(%arg0: tensor<8xf32> {mhlo.sharding = "replicated"}) {
  return
}

// -----

// expected-error @+1 {{'func.func' op result 1 - {devices=[4]<=[4]}: expected rank 2 of the tensor, got rank 1}}
func.func @main(%arg0: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) {
  return %arg0, %arg0 : tensor<4x8xf32>, tensor<4x8xf32>
}
