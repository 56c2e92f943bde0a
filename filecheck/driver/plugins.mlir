// RUN: sdy-opt %s --signal-name-transforms --sdy-propagation-pipeline --load %S/Inputs/signal_plugin.py | filecheck %s
// RUN: sdy-opt %s --load=%S/Inputs/signal_plugin.py --pass-pipeline='builtin.module(signal-name-transforms)' | filecheck %s --check-prefix=PASS
// RUN: not sdy-opt %s 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: not sdy-opt %s --load %S/Inputs/no_plugin.py 2>&1 | filecheck %s --check-prefix=MISSING

sdy.mesh @mesh = <["x"=2, "y"=4]>

// CHECK:      func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
// CHECK-SAME:   -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
// CHECK-NEXT: "signal.fft"(%arg0) {sdy.sharding = {{.*}}, signal.name = "fft 0"}
// PASS: "signal.fft"(%arg0) {signal.name = "fft 0"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
// WITHOUT: plugins.mlir:15:{{[0-9]+}}: error: operation being parsed with an unregistered dialect
// MISSING: sdy-opt: argument --load: plugin '{{.*}}no_plugin.py': cannot open file '{{.*}}no_plugin.py': No such file or directory
func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x16xf32> {
  %0 = "signal.fft"(%arg0) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
