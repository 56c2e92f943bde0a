// RUN: sdy-opt %s --sdy-propagation-pipeline --time-report | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --time-report=tpu-v5p,model=tpu-dcn | filecheck %s --check-prefix=SLOW
// RUN: sdy-opt %s --sdy-propagation-pipeline --time-report=h100 --json | filecheck %s --check-prefix=JSON
// RUN: sdy-opt %s --sdy-propagation-pipeline --time-report --csv | filecheck %s --check-prefix=CSV
// RUN: sdy-opt %s --sdy-propagation-pipeline --chakra=%t.traces,h100 --time-trace=%t.json | filecheck %s --check-prefix=FILES
// RUN: not sdy-opt %s --sdy-propagation-pipeline --time-report=abacus 2>&1 | filecheck %s --check-prefix=UNKNOWN

// Each device multiplies 1024 x 4096 by 4096 x 4096: 34.4 GFLOPs at 459 TFLOPS. The parts of the sum, 8.4 MB, are
// added over a line of two devices at 100 GB/s one way. The elementwise ops are one group.

// CHECK:      Time of a step of @main on 8 x tpu-v5p
// CHECK-NEXT: 166.81 us with perfect overlap, 166.81 us without; bound by links of model
// CHECK-NEXT: MFU 44.9% to 44.9%; each device computes 34.37 GFLOPs and 4,194,304 transcendental functions
// CHECK:      compute 74.86 us
// CHECK-NEXT: memory 6.07 us
// CHECK-NEXT: links of model 85.89 us
// CHECK:      data 4 y, z of a torus of 2x2x2 200 GB/s
// CHECK-NEXT: model 2 x of a torus of 2x2x2 100 GB/s 1.00 us
// CHECK:      all_reduce links of model 1 - 8.39 MB 85.89 us
// CHECK-NEXT: stablehlo.dot_general compute 1 34.36 GFLOPs 50.33 MB 74.86 us
// CHECK-NEXT: stablehlo.add + 1 fused memory 1 4.19 MFLOPs 16.78 MB 6.07 us

// SLOW: bound by links of model
// SLOW: model 2 tpu-dcn 6.25 GB/s 10.00 us

// JSON: {"jax": "0.12", "time": {"schema": 1, "hardware": "h100", "stage": "as partitioned", "function": "main", "devices": 8,
// JSON-SAME: "where": "switch h100-nvlink"

// CSV: op,bound,axes,runs,seconds,total_seconds,flops,transcendentals,bytes,fused,location
// CSV-NEXT: stablehlo.dot_general,compute,

// FILES: Traces of 8 devices are in {{.*}}.traces.
// FILES: The trace of a step is in {{.*}}.json.

// UNKNOWN: error: unknown hardware 'abacus'

sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<4096x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
                %w: tensor<8192x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
    -> tensor<4096x4096xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x8192xbf16>, tensor<8192x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.tanh %0 : tensor<4096x4096xbf16>
  %2 = stablehlo.add %1, %1 : tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}
