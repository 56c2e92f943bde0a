// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Text that cannot be read: what is wrong, then whose parameter could not be read, from the inside out.

// expected-error @+3 {{expecting priority in format 'p<number>', got: pfirst}}
// expected-error @+2 {{failed to parse Sdy_TensorSharding parameter 'dim_shardings' which is to be a `::llvm::ArrayRef<DimensionShardingAttr>`}}
// expected-error @+1 {{failed to parse Sdy_TensorShardingPerValue parameter 'shardings' which is to be a `::llvm::ArrayRef<TensorShardingAttr>`}}
func.func private @f() attributes {a.b = #sdy.sharding_per_value<[<@mesh, [{"x"}pfirst]>]>}

// -----

// expected-error @+2 {{priorities with leading zeros are not allowed, got: p007}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'dim_shardings'}}
func.func private @f() attributes {a.b = #sdy.sharding<@mesh, [{"x"}p007]>}

// -----

// expected-error @+2 {{expecting integer priority, got: p9223372036854775808}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'dim_shardings'}}
func.func private @f() attributes {a.b = #sdy.sharding<@mesh, [{"x"}p9223372036854775808]>}

// -----

// expected-error @+4 {{expected string}}
// expected-error @+3 {{failed to parse Sdy_AxisRef parameter 'name' which is to be a `::llvm::StringRef`}}
// expected-error @+2 {{failed to parse axis list which is expected to be an `ArrayRef<AxisRefAttr>`}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'unreduced_axes'}}
func.func private @f() attributes {a.b = #sdy.sharding<@mesh, [{}], unreduced=min{x}>}

// -----

// expected-error @+1 {{failed to parse Sdy_TensorSharding, expected valid named axis list after comma}}
func.func private @f() attributes {a.b = #sdy.sharding<@mesh, [{}], partial={"x"}>}

// -----

// expected-error @+2 {{expected attribute value}}
// expected-error @+1 {{expecting MeshAttr or FlatSymbolRefAttr, got: <<NULL ATTRIBUTE>>}}
func.func private @f() attributes {a.b = #sdy.sharding<there, [{}]>}

// -----

// expected-error @+4 {{expected integer value}}
// expected-error @+3 {{failed to parse Sdy_MeshAxis parameter 'size' which is to be a `int64_t`}}
// expected-error @+2 {{failed to parse Sdy_Mesh parameter 'axes' which is to be a `::llvm::ArrayRef<MeshAxisAttr>`}}
// expected-error @+1 {{failed to parse MeshAttr}}
func.func private @f() attributes {a.b = #sdy.sharding<mesh<["x"=two]>, [{}]>}

// -----

// expected-error @+2 {{invalid kind of attribute specified}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'dim_shardings'}}
func.func private @f() attributes {a.b = #sdy.sharding<@mesh, [#sdy<axis_ref"x">]>}

// -----

// What is no token is all there is to say.

// expected-error @+1 {{unexpected character}}
func.func private @f() attributes {a.b = #sdy.sharding<@mesh, [{"x" ~}]>}

// -----

// In the form of an op the op is named too.

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+4 {{custom op 'sdy.all_gather' expected string}}
  // expected-error @+3 {{custom op 'sdy.all_gather' failed to parse Sdy_AxisRef parameter 'name' which is to be a `::llvm::StringRef`}}
  // expected-error @+2 {{custom op 'sdy.all_gather' failed to parse Sdy_AxisRefList parameter 'value' which is to be a `::llvm::ArrayRef<AxisRefAttr>`}}
  // expected-error @+1 {{custom op 'sdy.all_gather' failed to parse Sdy_ListOfAxisRefLists parameter 'value' which is to be a `::llvm::ArrayRef<AxisRefListAttr>`}}
  %0 = sdy.all_gather [{x}] %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{custom op 'sdy.propagation_barrier' expected string or keyword containing one of the following enum values for attribute 'allowed_direction' [NONE, FORWARD, BACKWARD, BOTH]}}
  %0 = sdy.propagation_barrier %arg0 allowed_direction=UP : tensor<8xf32>
  return
}

// -----

// expected-error @+3 {{expecting integer after 'z_'. Received: 'z_j'}}
// expected-error @+2 {{failed to parse Sdy_TensorMapping parameter 'dim_mappings' which is to be a `::llvm::ArrayRef<DimMappingAttr>`}}
// expected-error @+1 {{failed to parse Sdy_OpShardingRule parameter 'operand_mappings' which is to be a `::llvm::ArrayRef<TensorMappingAttr>`}}
func.func private @f() attributes {a.b = #sdy.op_sharding_rule<([z_j])->([i]) {i=2}>}

// -----

// expected-error @+2 {{expected '['}}
// expected-error @+1 {{failed to parse Sdy_OpShardingRule parameter 'result_mappings'}}
func.func private @f() attributes {a.b = #sdy.op_sharding_rule<([i])->() {i=2}>}

// -----

// An index too large does not end the reading.

// expected-error @+2 {{expecting symbol index <=2^63-1. Received: '9223372036854775808'}}
// expected-error @+1 {{Expecting factor index symbol 'i', received: 'j'}}
func.func private @f() attributes {a.b = #sdy.op_sharding_rule<([z_9223372036854775808])->([i]) {j=2}>}

// -----

// expected-error @+1 {{expecting symbol index <=2^63-1. Received: '9223372036854775808'}}
func.func private @f() attributes {a.b = #sdy.op_sharding_rule<([z_9223372036854775808])->([i]) {i=2}>}

// -----

// expected-error @+3 {{expected integer value}}
// expected-error @+2 {{failed to parse Sdy_AllToAllParamAttr parameter 'tgt_dim' which is to be a `int64_t`}}
// expected-error @+1 {{failed to parse Sdy_AllToAllParamList parameter 'value' which is to be a `::llvm::ArrayRef<AllToAllParamAttr>`}}
func.func private @f() attributes {a.b = #sdy<all_to_all_param_list[{"x"}: 0->{}]>}

// -----

// expected-error @+5 {{expected ::mlir::sdy::EdgeNodeType to be one of: operand, result}}
// expected-error @+4 {{failed to parse Sdy_EdgeValueRef parameter 'type' which is to be a `::mlir::sdy::EdgeNodeType`}}
// expected-error @+3 {{failed to parse Sdy_AxisToPropagationDetails parameter 'source' which is to be a `::mlir::sdy::EdgeValueRefAttr`}}
// expected-error @+2 {{failed to parse Sdy_PropagationOneStep parameter 'axis_entries' which is to be a `::llvm::ArrayRef<AxisToPropagationDetailsAttr>`}}
// expected-error @+1 {{failed to parse Sdy_PropagationEdges parameter 'value' which is to be a `::llvm::ArrayRef<PropagationOneStepAttr>`}}
func.func private @f() attributes {a.b = #sdy.propagation_edges<[{step-0 = [{"x" = block-0 -> [result-0]}]}]>}
