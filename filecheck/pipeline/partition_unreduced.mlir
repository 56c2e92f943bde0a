// RUN: sdy-opt %s --sdy-partitioner-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-partitioner-pipeline --prove | filecheck %s --check-prefix=PROOF
// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline --sdy-partitioner-pipeline --prove | filecheck %s --check-prefix=PROPAGATED

// An all-reduce that is in the program is not done twice, though propagation inserts another one.

sdy.mesh @mesh = <["x"=2, "y"=4]>

// CHECK: stablehlo.dot
// CHECK-NEXT: "stablehlo.all_reduce"
// CHECK-NOT: all_reduce
// PROOF: equal: 2 of 2 values compared
// PROPAGATED: equal
func.func @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], unreduced={"y"}>]>} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = sdy.all_reduce {"y"} %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
