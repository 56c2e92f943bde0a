sdy.mesh @mesh = <["a"=8, "b"=2, "c"=1]>
  func.func @main(%x: tensor<4x24x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"a", ?}, {}]>}) -> (tensor<4x24x2xf64>, tensor<24x2x2x2xf64>, tensor<64x3x1xf32>) {
    %v1:1 = "stablehlo.convert"(%x) : (tensor<4x24x2xf32>) -> (tensor<4x24x2xf64>)
    %v2:1 = "stablehlo.reshape"(%v1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {?}, {"a", ?}, {"c"}]>]>} : (tensor<4x24x2xf64>) -> (tensor<24x2x2x2xf64>)
    %v3:1 = "stablehlo.reshape"(%x) : (tensor<4x24x2xf32>) -> (tensor<64x3x1xf32>)
  return %v1, %v2, %v3 : tensor<4x24x2xf64>, tensor<24x2x2x2xf64>, tensor<64x3x1xf32>
  }
