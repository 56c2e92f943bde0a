// RUN: sdy-opt %s --convert-sdy-to-shard | filecheck %s

// Values are annotated where they are made; reshards and results of the function annotate uses.

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x16xf32>) -> (tensor<8x16xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}) {
  %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x16xf32>
  %1 = sdy.reshard %0 <@mesh, [{"y", "x"}, {}]> : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// CHECK:      module {
// CHECK-NEXT:   shard.grid @mesh(shape = 2x4) {sdy.axis_names = ["x", "y"]}
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32>) -> (tensor<8x16xf32> {jax.result_info = "r"}) {
// CHECK-NEXT:     %0 = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
// CHECK-NEXT:     %1 = shard.shard %arg0 to %0 : tensor<8x16xf32>
// CHECK-NEXT:     %2 = stablehlo.add %1, %arg1 : tensor<8x16xf32>
// CHECK-NEXT:     %3 = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
// CHECK-NEXT:     %4 = shard.shard %2 to %3 : tensor<8x16xf32>
// CHECK-NEXT:     %5 = shard.sharding @mesh split_axes = [[1, 0], []] : !shard.sharding
// CHECK-NEXT:     %6 = shard.shard %4 to %5 annotate_for_users : tensor<8x16xf32>
// CHECK-NEXT:     %7 = shard.sharding @mesh split_axes = [[1, 0], []] : !shard.sharding
// CHECK-NEXT:     %8 = shard.shard %6 to %7 annotate_for_users : tensor<8x16xf32>
// CHECK-NEXT:     return %8 : tensor<8x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
