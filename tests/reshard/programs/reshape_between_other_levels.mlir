module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2, "d"=2]>
  func.func @main(%arg0: tensor<4x24xf32>) -> (tensor<3x32xf32>, tensor<2x4x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}, {"d", ?}]>}) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<4x24xf32>) -> tensor<2x4x24xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<4x24xf32>) -> tensor<3x32xf32>
    return %1, %0 : tensor<3x32xf32>, tensor<2x4x24xf32>
  }
}
