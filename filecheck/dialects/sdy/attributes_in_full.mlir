// RUN: sdy-opt %s | filecheck %s

// An attribute inside another, or in the form of an op, may stand in full or under an alias.

#axis = #sdy<axis_ref"x">
#size = #sdy<mesh_axis"x"=4>
#mesh = #sdy.mesh<[#size]>
#dimension = #sdy<dimension_sharding{"x", ?}p1>
#sharding = #sdy.sharding<@mesh, [#dimension]>
#axes = #sdy<axis_ref_list{#axis}>
#value = #sdy<edge_value_ref operand-0>

sdy.mesh @mesh = #mesh

// CHECK: func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=4]>, [{}], replicated={"x"}>})
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh #mesh, [{}], replicated={#axis}>}) -> tensor<8xf32> {
  // CHECK: sdy.sharding_constraint %arg0 <@mesh, [{"x", ?}p1]>
  %0 = sdy.sharding_constraint %arg0 #sharding : tensor<8xf32>
  // CHECK: sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}p1]>]>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[#sharding]>} : tensor<8xf32>
  // CHECK: sdy.all_gather [{"x"}] %1 out_sharding=<@mesh, [{}]>
  %2 = sdy.all_gather [#axes] %1 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  // CHECK: edge = #sdy<axis_to_propagation_details{"x" = operand-0 -> [result-0]}>
  %3 = stablehlo.negate %2 {edge = #sdy<axis_to_propagation_details{#axis = #value -> [result-0]}>} : tensor<8xf32>
  return %3 : tensor<8xf32>
}
