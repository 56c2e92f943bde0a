// RUN: sdy-opt %s --split-input-file --verify-diagnostics --sdy-basic-propagate

func.func @of_dynamic_shape(%arg0: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{Shardy propagation only supports ranked tensors with a static shape. type: 'tensor<?x8xf32>'}}
  %0 = stablehlo.abs %arg0 : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

func.func @in_a_tuple(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{Shardy propagation doesn't support tuples: 'tuple<tensor<8xf32>>'}}
  %0 = stablehlo.tuple %arg0 : tuple<tensor<8xf32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// An edge written where no data flows.

sdy.mesh @mesh = <["x"=2]>

func.func @argument(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{invalid operand of 'sdy.data_flow_edge': expected a target of data flow, such as a result of stablehlo.while; run sdy-add-data-flow-edges, which inserts all edges}}
  %0 = sdy.data_flow_edge %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>

func.func @other_op(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  // expected-error @+1 {{invalid operand of 'sdy.data_flow_edge': expected a target of data flow}}
  %1 = sdy.data_flow_edge %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
