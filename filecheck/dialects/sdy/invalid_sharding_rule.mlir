// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Sharding rules on ops: mappings, factors, special factors.

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op should have a sharding rule attribute of type OpShardingRuleAttr for attr named 'sdy.sharding_rule'}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = 1 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op number of operands and mappings must match: 2 != 1}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, j]) {i=2, j=4, k=3}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op number of results and mappings must match: 1 != 2}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j], [i]) {i=2, j=4, k=3}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand 0 - mapping rank must match: 1 != 2}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [k, j])->([i, j]) {i=2, j=4, k=3}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op result - mapping rank must match: 1 != 2}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i]) {i=2, j=4, k=3}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand 0 - dim mapping must have at least one factor}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, ], [k, j])->([i, j]) {i=2, j=4, k=3}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand 1 - expecting factor indices to be within 0<=...<num_factors; received: 4, num_factors: 3}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, m])->([i, j]) {i=2, j=4, k=3}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand 0 - cannot reuse factors for the same tensor value}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, i], [k, j])->([i, j]) {i=2, j=4, k=3}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand 0 - dim mapping can't have a factor of size 1 if there are multiple factors}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, kl], [k, j])->([i, j]) {i=2, j=4, k=3, l=1}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op has factor l=5 that isn't used in operand and result mappings}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3, l=5}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op reduction factor cannot be in result mappings}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3} reduction={i}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{indices of special factors must be sorted}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3} permutation={k, i}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{indices of special factors must be unique}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3} need_replication={k, k}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{index must be less than 3, got: 3}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3} reduction={l}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{a factor can only be in one of the reduction, need replication, or permutation factor sets}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3} reduction={k} permutation={k}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{indices of special factors must be sorted}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3} blocked_propagation={k, j}>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<?x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand 0 - expected a ranked tensor with a static shape. type: 'tensor<?x3xf32>'}}
  %0 = stablehlo.custom_call @f(%arg0, %arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=2, j=4, k=3}>} : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
