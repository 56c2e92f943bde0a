module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
  func.func @main(%arg0: tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {?}]>}) -> tensor<5x7x1xf64> {
    %0 = stablehlo.convert %arg0 : (tensor<7x5xf32>) -> tensor<7x5xf64>
    %1 = stablehlo.reshape %0 : (tensor<7x5xf64>) -> tensor<5x7x1xf64>
    return %1 : tensor<5x7x1xf64>
  }
}
