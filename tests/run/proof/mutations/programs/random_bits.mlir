// Random bits of a sharded tensor, and dropout by them.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%key: tensor<2xui64>, %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<2xui64>) {
  %s, %b = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>)
  %c = stablehlo.constant dense<2147483648> : tensor<8x4xui32>
  %k = stablehlo.compare LT, %b, %c : (tensor<8x4xui32>, tensor<8x4xui32>) -> tensor<8x4xi1>
  %z = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %y = stablehlo.select %k, %x, %z : tensor<8x4xi1>, tensor<8x4xf32>
  return %y, %s : tensor<8x4xf32>, tensor<2xui64>
}
