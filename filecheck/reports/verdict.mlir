// RUN: sdy-opt %s --sdy-propagation-pipeline --partitioner=xla --verdict 2>/dev/null | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --partitioner=xla --verdict --json 2>/dev/null | filecheck %s --check-prefix=JSON
// RUN: sdy-opt %s --partitioner=xla --verdict 2>/dev/null | filecheck %s --check-prefix=WRITTEN

// The weight is sharded along its rows' axis in the columns: what to change, then what costs most.
// CHECK:      Verdict: each device receives 3.15 MB in {{.*}} us; 0 B in 0 s with 1 change (memory
// CHECK-NEXT: What to change
// CHECK-NEXT:   1. {{.*}}
// CHECK-NEXT:      received 3.15 MB -> 0 B, time
// CHECK:      Largest causes:
// CHECK-NEXT:   100%  3.15 MB, {{.*}}dot_general(
// CHECK-NEXT:        1 all_gather along x: operand 0 of stablehlo.dot_general requires another sharding
// CHECK:        change 1 helps

// JSON: {"jax": "{{.*}}", "verdict": {"bytes": 3145728, {{.*}}"changes": [{"words": {{.*}}"causes": [{"location":

// WRITTEN: Changes are not tried: no pass of the command line propagates

sdy.mesh @mesh = <["x"=4]>
func.func public @main(
    %arg0: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<1024x4096xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<1024x1024xf32>, tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  return %0 : tensor<1024x4096xf32>
}
