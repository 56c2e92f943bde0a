module {
  sdy.mesh @mesh = <["a"=2, "b"=8]>
  func.func @main(%arg0: tensor<8x8x8xf32>, %arg1: tensor<i1>) -> tensor<8x8x8xf32> {
    %0 = "stablehlo.if"(%arg1) ({
      %1 = sdy.reshard %arg0 <@mesh, [{}, {}, {"a"}]> : tensor<8x8x8xf32>
      %2 = sdy.reshard %1 <@mesh, [{?}, {?}, {?}], unreduced={"a"}> : tensor<8x8x8xf32>
      stablehlo.return %2 : tensor<8x8x8xf32>
    }, {
      %1 = stablehlo.multiply %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b", ?}, {?}, {?}]>]>} : tensor<8x8x8xf32>
      stablehlo.return %1 : tensor<8x8x8xf32>
    }) : (tensor<i1>) -> tensor<8x8x8xf32>
    return %0 : tensor<8x8x8xf32>
  }
}
