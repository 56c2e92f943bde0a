// RUN: sdy-opt %s --sdy-propagation-pipeline --memory-report=tpu | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --memory-report | filecheck %s --check-prefix=LINEAR
// RUN: sdy-opt %s --sdy-propagation-pipeline --memory-report=tpu --json | filecheck %s --check-prefix=JSON
// RUN: sdy-opt %s --sdy-propagation-pipeline --memory-report -o %t.mlir && filecheck %s --check-prefix=MODULE < %t.mlir
// RUN: not sdy-opt %s --memory-report=gpu 2>&1 | filecheck %s --check-prefix=USAGE

// Each device holds 16 of the 64 rows of %arg0, the sum and the product: 16 * 100 * 4 bytes, on a TPU padded to
// 16 x 128 elements. The product is the result; sum, product and argument are alive together.

// CHECK:      Memory on each device, target tpu
// CHECK-NEXT: mesh @mesh = <["x"=4]>, 4 devices
// CHECK:      @main tensors global each device padded waste
// CHECK-NEXT: arguments 1 25.60 kB 6.40 kB 8.19 kB 21.9%
// CHECK-NEXT: results 1 25.60 kB 6.40 kB 8.19 kB 21.9%
// CHECK-NEXT: constants 0 0 B 0 B 0 B 0.0%
// CHECK-NEXT: alive at once 3 76.80 kB 19.20 kB 24.58 kB 21.9%
// CHECK:      Most is alive at %1 = stablehlo.multiply of @main (model.py:8:2 mul)
// CHECK:      alive there sharding global shape local shape padded waste location
// CHECK-NEXT: %arg0 [{"x"}, {}] 64x100xf32 16x100xf32 8.19 kB 21.9% weights
// CHECK-NEXT: %0 [{"x"}, {}] 64x100xf32 16x100xf32 8.19 kB 21.9% {{.*}}memory.mlir:{{[0-9]+}}:8
// CHECK-NEXT: %1 [{"x"}, {}] 64x100xf32 16x100xf32 8.19 kB 21.9% model.py:8:2 mul
// CHECK:      largest tensors sharding global shape

// LINEAR: Memory on each device, target linear
// LINEAR: 12.80 kB is what XLA allocates, as estimated: 6.40 kB of arguments, 6.40 kB of results, 0 B of temporaries
// LINEAR: alive at once 3 76.80 kB 19.20 kB 19.20 kB 0.0%

// JSON-LABEL: {"jax": "0.12", "memory": {"schema": 1, "target": "tpu", "memory_bytes": 12800, "alive_bytes": 24576, "not_estimated": "",
// JSON-SAME:  "peak": {"count": 3, "global_bytes": 76800, "local_bytes": 19200, "padded_bytes": 24576, "place": [{"function": "main", "op": "stablehlo.multiply", "name": "%1", "location": "model.py:8:2 mul"}], "alive": [0, 1, 2]}
// JSON-SAME:  {"name": "%arg0", "function": "main", "op": "func.func", "element_type": "f32", "shape": [64, 100], "local_shape": [16, 100], "sharding": "<@mesh, [{\"x\"}, {}]>", "global_bytes": 25600, "local_bytes": 6400, "padded_bytes": 8192, "location": "weights", "not_counted": ""}

// MODULE: func.func @main

// USAGE: --memory-report:1:1: error: unknown target 'gpu': expected one of 'tpu', 'linear', 'tpu-v2'

sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<64x100xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("weights")) -> tensor<64x100xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<64x100xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<64x100xf32> loc("mul"("model.py":8:2))
  return %1 : tensor<64x100xf32>
}
