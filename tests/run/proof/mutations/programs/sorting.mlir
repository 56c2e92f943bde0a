// A sort along a sharded dimension, with its places, and the largest two of each row.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x6xi32>, tensor<8x2xf32>, tensor<8x2xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<8x6xi32>
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<8x6xf32>, tensor<8x6xi32>) -> (tensor<8x6xf32>, tensor<8x6xi32>)
  %1:2 = chlo.top_k(%x, k = 2) : tensor<8x6xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<8x6xf32>, tensor<8x6xi32>, tensor<8x2xf32>, tensor<8x2xi32>
}
