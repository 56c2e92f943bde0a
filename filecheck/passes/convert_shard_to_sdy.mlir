// RUN: sdy-opt %s --convert-shard-to-sdy | filecheck %s

shard.grid @grid(shape = 2x4)
shard.grid @named(shape = 2x4) {sdy.axis_names = ["data", "model"]}
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %s0 = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %0 = shard.shard %arg0 to %s0 : tensor<8x16xf32>
  %s1 = shard.sharding @named split_axes = [[1, 0]] : !shard.sharding
  %1 = shard.shard %0 to %s1 annotate_for_users : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @grid = <["axis_0"=2, "axis_1"=4]>
// CHECK-NEXT:   sdy.mesh @named = <["data"=2, "model"=4]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
// CHECK-NEXT:     %0 = sdy.sharding_constraint %arg0 <@grid, [{"axis_0"}, {"axis_1"}]> : tensor<8x16xf32>
// CHECK-NEXT:     %1 = sdy.sharding_constraint %0 <@named, [{"model", "data"}, {}]> : tensor<8x16xf32>
// CHECK-NEXT:     return %1 : tensor<8x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
