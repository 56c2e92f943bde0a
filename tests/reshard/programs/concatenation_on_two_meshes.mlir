module {
  sdy.mesh @mesh = <["a"=3, "b"=4]>
  sdy.mesh @turned = <["a"=3, "b"=4], device_ids=[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
  func.func @main(%arg0: tensor<3xf32>) -> (tensor<1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", ?}]>}, tensor<11xf32>) {
    %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@turned, [{"b", ?}p2]>]>} : tensor<8xf32>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %1 = "stablehlo.case"(%c) ({
      stablehlo.return %0 : tensor<8xf32>
    }, {
      %4 = stablehlo.concatenate %0, dim = 0 : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %4 : tensor<8xf32>
    }, {
      stablehlo.return %0 : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %2 = stablehlo.slice %arg0 [0:1:2] : (tensor<3xf32>) -> tensor<1xf32>
    %3 = stablehlo.concatenate %1, %arg0, dim = 0 : (tensor<8xf32>, tensor<3xf32>) -> tensor<11xf32>
    return %2, %3 : tensor<1xf32>, tensor<11xf32>
  }
}
