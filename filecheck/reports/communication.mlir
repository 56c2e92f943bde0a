// RUN: sdy-opt %s --sdy-propagation-pipeline --communication-report | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --communication-report=tpu-v5e,x=1e9:0 | filecheck %s --check-prefix=SLOW
// RUN: sdy-opt %s --sdy-propagation-pipeline --communication-report --json | filecheck %s --check-prefix=JSON
// RUN: not sdy-opt %s --sdy-propagation-pipeline --communication-report=abacus 2>&1 | filecheck %s --check-prefix=MODEL

// The product is reduced over the four devices of "x": each receives 2 * 3/4 of the 32 x 64 elements it holds.

// CHECK:      collective count runs bytes time
// CHECK-NEXT: all_reduce 1 1 12.29 kB 4.06 us
// CHECK:      lines count runs bytes time
// CHECK-NEXT: model.py:7 1 1 12.29 kB 4.06 us
// CHECK:      all_reduce x=4 32x64xf32 1 12.29 kB 4.06 us stablehlo.dot_general reduces a sharded dimension model.py:7:3 f/dot
// CHECK:      1 collective; each device receives 12.29 kB in 4.06 us on tpu-v5p.

// SLOW:       1 collective; each device receives 12.29 kB in 12.29 us on tpu-v5e.

// JSON:       {"jax": "0.12", "communication": {"schema": 1, "partitioner": "shardy", "stage": "as partitioned", "target": null, "as_partitioned": null, "model": {"name": "tpu-v5p"
// JSON-SAME:  "total": {"bytes": 12288,
// JSON-SAME:  "axes": [{"name": "x", "size": 4}]
// JSON-SAME:  "cause": {"op": "stablehlo.dot_general"

// MODEL:      error: unknown cost model 'abacus': expected one of

sdy.mesh @mesh = <["x"=4, "y"=2]>

func.func @main(%arg0: tensor<32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %arg1: tensor<128x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<32x128xf32>, tensor<128x64xf32>) -> tensor<32x64xf32> loc("f/dot"("model.py":7:3))
  return %0 : tensor<32x64xf32>
}
