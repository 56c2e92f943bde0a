module {
  sdy.mesh @mesh = <["a"=4, "b"=3]>
  func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2x1xf32>, %arg2: tensor<1x48xf32>) -> tensor<2x48xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"b"}]> : tensor<2xf32>
    %1 = stablehlo.reshape %0 : (tensor<2xf32>) -> tensor<1x2xf32>
    %2 = stablehlo.convolution(%1, %arg1) dim_numbers = [f, b]x[o, i]->[f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %3 = stablehlo.convolution(%2, %arg2) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x2xf32>, tensor<1x48xf32>) -> tensor<2x48xf32>
    return %3 : tensor<2x48xf32>
  }
}
