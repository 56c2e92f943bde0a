module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
  func.func @main(%arg0: tensor<6x6x6xf32>) -> tensor<6x6x6x6xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{?}, {"c", ?}, {?}]>] out_shardings=[<@mesh, [{?}, {"c", "a", ?}, {?}]>] manual_axes={"c"} (%arg1: tensor<6x3x6xf32>) {
      %2 = stablehlo.sine %arg1 : tensor<6x3x6xf32>
      sdy.return %2 : tensor<6x3x6xf32>
    } : (tensor<6x6x6xf32>) -> tensor<6x6x6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2, 3] : (tensor<6x6x6xf32>) -> tensor<6x6x6x6xf32>
    return %1 : tensor<6x6x6x6xf32>
  }
}
