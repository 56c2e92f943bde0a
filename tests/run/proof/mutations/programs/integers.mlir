// Counts by comparison, shifts and remainders; a histogram's bins over devices.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<14xi32>, %n: tensor<i32>) -> (tensor<i32>, tensor<14xi32>, tensor<14xi64>) {
  %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<14xi32>
  %d = stablehlo.subtract %x, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<14xi32>
  %c = stablehlo.compare LT, %d, %b : (tensor<14xi32>, tensor<14xi32>) -> tensor<14xi1>
  %i = stablehlo.convert %c : (tensor<14xi1>) -> tensor<14xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.reduce(%i init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<14xi32>, tensor<i32>) -> tensor<i32>
  %k = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]> : tensor<14xi32>
  %r = stablehlo.xor %d, %k {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<14xi32>
  %p = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<14xi64>
  %e = stablehlo.convert %r : (tensor<14xi32>) -> tensor<14xi64>
  %q = stablehlo.multiply %p, %e : tensor<14xi64>
  return %s, %r, %q : tensor<i32>, tensor<14xi32>, tensor<14xi64>
}
