module {
  sdy.mesh @mesh = <["a"=4, "b"=3]>
  func.func @main(%arg0: tensor<4x2xf32>, %arg1: tensor<48x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"b", ?}]>}, %arg2: tensor<f32>) -> tensor<6x3x16xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f]x[o, i]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<4x2xf32>, tensor<48x1xf32>) -> tensor<4x48xf32>
    %1 = stablehlo.pad %0, %arg2, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<4x48xf32>, tensor<f32>) -> tensor<6x48xf32>
    %2 = stablehlo.reshape %1 : (tensor<6x48xf32>) -> tensor<6x3x16xf32>
    return %2 : tensor<6x3x16xf32>
  }
}
