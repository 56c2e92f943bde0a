// A training step of two layers: batch along x, features along y; the mean divides by the whole batch.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %w1: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
                %w2: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>},
                %t: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
        tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h = stablehlo.dot %x, %w1 : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %a = stablehlo.tanh %h : tensor<8x4xf32>
  %y = stablehlo.dot %a, %w2 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %e = stablehlo.subtract %y, %t : tensor<8x2xf32>
  %s = stablehlo.multiply %e, %e : tensor<8x2xf32>
  %sum = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x2xf32>, tensor<f32>) -> tensor<f32>
  %n = stablehlo.constant dense<16.0> : tensor<f32>
  %loss = stablehlo.divide %sum, %n : tensor<f32>
  %c = stablehlo.constant dense<0.125> : tensor<8x2xf32>
  %dy = stablehlo.multiply %e, %c : tensor<8x2xf32>
  %dw2 = stablehlo.dot_general %a, %dy, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %da = stablehlo.dot_general %dy, %w2, contracting_dims = [1] x [1] : (tensor<8x2xf32>, tensor<4x2xf32>) -> tensor<8x4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8x4xf32>
  %aa = stablehlo.multiply %a, %a : tensor<8x4xf32>
  %d = stablehlo.subtract %one, %aa : tensor<8x4xf32>
  %dh = stablehlo.multiply %da, %d : tensor<8x4xf32>
  %dw1 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %rate = stablehlo.constant dense<0.01> : tensor<6x4xf32>
  %step = stablehlo.multiply %dw1, %rate : tensor<6x4xf32>
  %w1n = stablehlo.subtract %w1, %step : tensor<6x4xf32>
  %w2n = stablehlo.subtract %w2, %dw2 : tensor<4x2xf32>
  return %w1n, %w2n, %loss : tensor<6x4xf32>, tensor<4x2xf32>, tensor<f32>
}
