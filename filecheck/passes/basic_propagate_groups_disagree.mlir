// RUN: sdy-opt %s --sdy-basic-propagate | filecheck %s
// RUN: sdy-opt %s --sdy-basic-propagate --verify-diagnostics -o /dev/null

sdy.mesh @mesh = <["a"=2, "b"=2]>

// The first sharding counts, and everything may be sharded further.
// CHECK:      %[[A:.*]] = sdy.sharding_constraint %arg0 <@mesh, [{"a"}]>
// CHECK-NEXT: %[[A_OPEN:.*]] = sdy.sharding_constraint %[[A]] <@mesh, [{"a", ?}]>
// CHECK-NEXT: %[[B:.*]] = sdy.sharding_constraint %arg0 <@mesh, [{"b"}]>
// CHECK-NEXT: %[[B_OPEN:.*]] = sdy.sharding_constraint %[[B]] <@mesh, [{"a", ?}]>
// CHECK-NEXT: sdy.sharding_group %[[A_OPEN]] group_id=7
// CHECK-NEXT: sdy.sharding_group %[[B_OPEN]] group_id=7
// CHECK-NEXT: stablehlo.add %[[A_OPEN]], %[[B_OPEN]] {{.*}}[{"a", ?}]
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-warning @+1 {{The initial operand shardings on the sharding groups of groupID: 7 do not match. Inserting an open sharding constraint to all constrained values. This can be caused when shardings from different values are grouped (e.g. from jax.shard_alike) but have separate inconsistent sharding constraints on them.}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}]> : tensor<8xf32>
  %1 = sdy.sharding_constraint %arg0 <@mesh, [{"b"}]> : tensor<8xf32>
  sdy.sharding_group %0 group_id=7 : tensor<8xf32>
  sdy.sharding_group %1 group_id=7 : tensor<8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
