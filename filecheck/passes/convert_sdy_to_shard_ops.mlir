// RUN: sdy-opt %s --convert-sdy-to-shard | filecheck %s

// Constants become those of StableHLO, collectives annotate uses, barriers go, a mesh without axes says nothing.

sdy.mesh @mesh = <["x"=2]>
sdy.mesh @empty = <[]>
sdy.mesh @unused = <[], device_ids=[0]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@empty, [{}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<1.0> : tensor<8x4xf32>
  %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %2 = sdy.propagation_barrier %1 allowed_direction=NONE : tensor<8x4xf32>
  %3 = sdy.sharding_constraint %2 <@empty, [{}, {}]> : tensor<8x4xf32>
  %4 = stablehlo.add %3, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@empty, [{}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=4}>} : tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// CHECK:      module {
// CHECK-NEXT:   shard.grid @mesh(shape = 2) {sdy.axis_names = ["x"]}
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
// CHECK-NEXT:     %cst = stablehlo.constant dense<1.000000e+00> : tensor<8x4xf32>
// CHECK-NEXT:     %0 = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
// CHECK-NEXT:     %1 = shard.shard %cst to %0 : tensor<8x4xf32>
// CHECK-NEXT:     %2 = shard.sharding @mesh split_axes = [[], []] : !shard.sharding
// CHECK-NEXT:     %3 = shard.shard %1 to %2 annotate_for_users : tensor<8x4xf32>
// CHECK-NEXT:     %4 = stablehlo.add %3, %arg0 : tensor<8x4xf32>
// CHECK-NEXT:     return %4 : tensor<8x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
