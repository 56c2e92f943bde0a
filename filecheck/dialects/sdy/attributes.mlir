// Attributes wherever they stand. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  sdy.mesh @one = <[], device_ids=[3]>
  sdy.mesh @empty = <[]>
  sdy.mesh @"odd names" = <["a\22b"=2, "\C3\A9"=2, "c d"=2]>
  func.func private @meshes() attributes {a.axes = [#sdy<axis_ref"x">, #sdy<axis_ref"x":(2)2>, #sdy<axis_ref_list{"x", "y":(1)2}>, #sdy<axis_ref_list{}>, #sdy<manual_axes{"x"}>, #sdy<manual_axes{}>, #sdy<sub_axis_info(2)2>], a.meshes = [#sdy.mesh<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>, #sdy<mesh_axis"x"=2>]}
  func.func private @shardings() attributes {a.shardings = [#sdy.sharding<@mesh, [{"x":(1)2, ?}p1, {}], replicated={"x":(2)2}, unreduced=max{"y"}>, #sdy.sharding<mesh<["z"=2]>, []>, #sdy.sharding_per_value<[<@mesh, [{?}]>, <@one, []>]>, #sdy.sharding_per_value<[]>, #sdy<dimension_sharding{"x", ?}p0>, #sdy<dimension_sharding{}>]}
  func.func private @odd_names() attributes {a.sharding = #sdy.sharding<@"odd names", [{"a\22b", "\C3\A9":(1)2}], replicated={"c d"}>}
  func.func private @rules() attributes {a.rules = [#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k} blocked_propagation={i}>, #sdy<tensor_mapping[iz_2, , k]>, #sdy<tensor_mapping[]>, #sdy<dim_mapping ijz_1>, #sdy<dim_mapping>]}
  func.func private @moves() attributes {a.moves = [#sdy<list_of_axis_ref_lists[{"x"}, {}]>, #sdy<list_of_axis_ref_lists[]>, #sdy<all_to_all_param{"x"}: 0->1>, #sdy<all_to_all_param_list[{"x"}: 0->1, {"y"}: 2->0]>, #sdy<all_to_all_param_list[]>]}
  func.func private @edges() attributes {a.edges = [#sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0, operand-1]}, {"y":(1)2 = result-0 -> [operand-0]}]}, {step-7 = [{"x" = operand-1 -> [result-0]}]}]>, #sdy<propagation_one_step{step-3 = [{"x" = operand-0 -> [result-0]}]}>, #sdy<axis_to_propagation_details{"x" = operand-0 -> [result-0]}>, #sdy<edge_value_ref result-2>]}
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.negate %arg0 {sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
