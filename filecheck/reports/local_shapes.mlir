// RUN: sdy-opt %s --sdy-propagation-pipeline | shardy-view --program - --device 3 | filecheck %s
// RUN: shardy-view --program %s --value %arg0 | filecheck %s --check-prefix=ONE

// CHECK:      value type sharding each device copies device 3
// CHECK-NEXT: %arg0 8x16xf32 <@mesh, [{"x"}, {}]> 4x16xf32 2 [4:8, 0:16]
// CHECK-NEXT: %arg1 16x6xf32 <@mesh, [{}, {"y"}]> 16x3xf32 2 [0:16, 3:6]
// CHECK-NEXT: %0 8x6xf32 <@mesh, [{"x"}, {"y"}]> 4x3xf32 1 [4:8, 3:6]
// CHECK-NEXT: result 0 8x6xf32 <@mesh, [{"x"}, {"y"}]> 4x3xf32 1 [4:8, 3:6]

// ONE:      dimension 0 of 8: sharded along "x" into 2 shards of 4
// ONE-NEXT: dimension 1 of 16: not sharded
// ONE-NEXT: each element is on 2 devices, which differ along "y"
// ONE:      0:4 │ 0, 1 │
// ONE:      4:8 │ 2, 3 │

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                       %arg1: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
    -> tensor<8x6xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
