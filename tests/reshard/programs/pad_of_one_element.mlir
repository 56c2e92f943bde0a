module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.slice %arg1 [1:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b", ?}]>]>} : (tensor<3xf32>) -> tensor<1xf32>
    %1 = stablehlo.pad %0, %arg0, low = [0], high = [2], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
