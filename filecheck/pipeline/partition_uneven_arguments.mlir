// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline --prove | filecheck %s

// Propagation replicates the argument, because 4 does not divide 7; the proof then gives devices all of it.

sdy.mesh @mesh = <["x"=4]>

// CHECK: equal: 3 of 3 values compared
func.func @main(%a: tensor<7x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<7x3xf32> {
  %0 = stablehlo.tanh %a : tensor<7x3xf32>
  return %0 : tensor<7x3xf32>
}
