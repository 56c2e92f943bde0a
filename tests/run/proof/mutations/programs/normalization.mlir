// Batch normalization in training: means over a sharded batch of 10.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<10x3xf32>, %scale: tensor<3xf32>, %shift: tensor<3xf32>)
    -> (tensor<10x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<3xf32>, tensor<3xf32>) {
  %t = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<10x3xf32>
  %y, %m, %v = "stablehlo.batch_norm_training"(%t, %scale, %shift) <{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : (tensor<10x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<10x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y, %m, %v : tensor<10x3xf32>, tensor<3xf32>, tensor<3xf32>
}
