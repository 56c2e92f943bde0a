// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline --prove | filecheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @flat = <["all"=4]>

// A reshape before a reshard to another mesh.
// CHECK: equal: 3 of 3 values compared
func.func @main(%arg0: tensor<8x4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}]>}) -> tensor<32x6xf32> {
  %0 = stablehlo.reshape %arg0 : (tensor<8x4x6xf32>) -> tensor<32x6xf32>
  %1 = sdy.sharding_constraint %0 <@flat, [{"all"}, {}]> : tensor<32x6xf32>
  return %1 : tensor<32x6xf32>
}
