module {
  sdy.mesh @mesh = <["a"=2, "b"=1]>
  func.func @main(%arg0: tensor<24x4x2xf32>) -> tensor<24x4x2xcomplex<f32>> {
    %0 = stablehlo.complex %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {}, {?}], unreduced={"a"}>]>} : tensor<24x4x2xcomplex<f32>>
    return %0 : tensor<24x4x2xcomplex<f32>>
  }
}
