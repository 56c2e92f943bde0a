// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline --prove | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline --prove=7 --json | filecheck %s --check-prefix=JSON
// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline --prove --prove-shapes=ops | filecheck %s --check-prefix=OPS
// RUN: not sdy-opt %s --bisect 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not sdy-opt %s --prove=x 2>&1 | filecheck %s --check-prefix=SEED

sdy.mesh @mesh = <["x"=4]>

// CHECK: equal: 2 of 2 values compared, 80 elements on 4 devices
// CHECK-NEXT: inputs: seed 0, the program's own shapes
// JSON: "is_equal": true
// JSON-SAME: "seed": 7
// OPS: 2 ops, each as a program of its own
// ALONE: for the --bisect option: requires --prove
// SEED: --prove:1:1: error: expected the seed, a number from 0 with at most 18 digits, or floats, got 'x'
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4x5xf32>) -> tensor<8x5xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  %1 = stablehlo.tanh %0 : tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}
