module {
  sdy.mesh @mesh = <["a"=2, "b"=2], device_ids=[3, 2, 1, 0]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {?}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}, {?}]>}) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<8x8xf32>) -> tensor<8x8x4xi8>
    %1 = stablehlo.bitcast_convert %0 : (tensor<8x8x4xi8>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
