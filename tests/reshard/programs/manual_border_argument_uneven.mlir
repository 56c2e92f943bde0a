module {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"a", "b", ?}]>] out_shardings=[<@mesh, [{}, {"a", ?}]>] manual_axes={"a"} (%arg1: tensor<8x2xf32>) {
      %1 = stablehlo.minimum %arg1, %arg1 : tensor<8x2xf32>
      sdy.return %1 : tensor<8x2xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
