// A scan: each turn reads a slice of a sharded sequence, and writes what it has so far.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%xs: tensor<5x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<5x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<6xf32>
  %empty = stablehlo.constant dense<0.0> : tensor<5x6xf32>
  %0:3 = stablehlo.while(%i = %zero, %c = %start, %ys = %empty) : tensor<i32>, tensor<6xf32>, tensor<5x6xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %x = stablehlo.dynamic_slice %xs, %i, %z, sizes = [1, 6] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
      %r = stablehlo.reshape %x : (tensor<1x6xf32>) -> tensor<6xf32>
      %half = stablehlo.constant dense<0.5> : tensor<6xf32>
      %h = stablehlo.multiply %c, %half : tensor<6xf32>
      %s = stablehlo.add %h, %r : tensor<6xf32>
      %u = stablehlo.reshape %s : (tensor<6xf32>) -> tensor<1x6xf32>
      %w = stablehlo.dynamic_update_slice %ys, %u, %i, %z : (tensor<5x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %s, %w : tensor<i32>, tensor<6xf32>, tensor<5x6xf32>
    }
  return %0#2, %0#1 : tensor<5x6xf32>, tensor<6xf32>
}
