// The largest of NaNs whose signs depend on how they were made, as bits.
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>
func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> tensor<i32> {
  %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%arg0, %arg0, %arg0, %arg0, %arg0) <{epsilon = 1.000000e-03 : f32, feature_index = 0 : i64}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"c"}]>, <@mesh, [{}]>]>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %0 = stablehlo.reduce(%grad_scale init: %arg1) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<f32>) -> tensor<i32>
  return %1 : tensor<i32>
}
