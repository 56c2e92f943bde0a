// Three branches by an integer, and two by a truth value; one branch communicates.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%which: tensor<i32>, %p: tensor<i1>, %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xf32>, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.case"(%which) ({
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }, {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %s = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }, {
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    stablehlo.return %c : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%p) ({
    %t = stablehlo.tanh %x : tensor<8x4xf32>
    stablehlo.return %t : tensor<8x4xf32>
  }, {
    %r = stablehlo.reverse %x, dims = [0] : tensor<8x4xf32>
    stablehlo.return %r : tensor<8x4xf32>
  }) : (tensor<i1>) -> tensor<8x4xf32>
  return %0, %1 : tensor<4xf32>, tensor<8x4xf32>
}
