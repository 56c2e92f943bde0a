// RUN: sdy-opt %s --sdy-partitioner-pipeline | filecheck %s

// The result is needed in parts of its rows, and the weights are whole on each device: an all-to-all of the
// operand takes less than the sum of all terms of the result.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @smaller_operand
// CHECK: stablehlo.all_to_all
// CHECK-SAME: (tensor<8x8xf32>) -> tensor<2x32xf32>
// CHECK-NEXT: stablehlo.dot %{{.*}}, %arg1 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
// CHECK-NOT: reduce
func.func @smaller_operand(
    %arg0: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<32x16xf32>)
    -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
      : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
