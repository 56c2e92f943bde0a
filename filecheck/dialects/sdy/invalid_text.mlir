// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// expected-error @+2 {{expected '{'}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'replicated_axes'}}
func.func @replicated_axes(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated="x">}) {
  return
}

// -----

func.func @a_letter_too_early(%arg0: tensor<8xf32>) {
  // expected-error @+3 {{expecting symbol from 'i' to 'z'. Received: 'h'}}
  // expected-error @+2 {{failed to parse Sdy_TensorMapping parameter 'dim_mappings' which is to be a `::llvm::ArrayRef<DimMappingAttr>`}}
  // expected-error @+1 {{failed to parse Sdy_OpShardingRule parameter 'operand_mappings' which is to be a `::llvm::ArrayRef<TensorMappingAttr>`}}
  stablehlo.custom_call @f(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([h])->([i]) {i=8}>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @a_number_with_zeros_before_it(%arg0: tensor<8xf32>) {
  // expected-error @+3 {{expecting positive integer without leading zeros. Received: '01'}}
  // expected-error @+2 {{failed to parse Sdy_TensorMapping parameter 'dim_mappings' which is to be a `::llvm::ArrayRef<DimMappingAttr>`}}
  // expected-error @+1 {{failed to parse Sdy_OpShardingRule parameter 'operand_mappings' which is to be a `::llvm::ArrayRef<TensorMappingAttr>`}}
  stablehlo.custom_call @f(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([z_01])->([i]) {i=8}>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @factors_out_of_order(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{expecting factor indices to be ordered like an iota ([0,1,2,...], e.g. {i=#, j=#, ...}). Expecting factor index symbol 'i', received: 'j'}}
  stablehlo.custom_call @f(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {j=8}>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @a_size_for_two_factors(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{expecting single factor symbol: j}}
  stablehlo.custom_call @f(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {ij=8}>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}
