// Sums, products and extremes over 13 rows on 4 devices, of floats and integers.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<13x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                %n: tensor<13x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<6xf32>, tensor<6xf32>, tensor<13xf32>, tensor<6xi32>, tensor<i32>, tensor<6xi32>) {
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<-2147483648> : tensor<i32>
  %izero = stablehlo.constant dense<0> : tensor<i32>
  %ione = stablehlo.constant dense<1> : tensor<i32>
  %t = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<13x6xf32>
  %m = stablehlo.negate %n {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<13x6xi32>
  %0 = stablehlo.reduce(%t init: %ninf) applies stablehlo.maximum across dimensions = [0] : (tensor<13x6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = stablehlo.reduce(%t init: %inf) applies stablehlo.minimum across dimensions = [0] : (tensor<13x6xf32>, tensor<f32>) -> tensor<6xf32>
  %2 = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<13x6xf32>, tensor<f32>) -> tensor<13xf32>
  %3 = stablehlo.reduce(%m init: %lowest) applies stablehlo.maximum across dimensions = [0] : (tensor<13x6xi32>, tensor<i32>) -> tensor<6xi32>
  %4 = stablehlo.reduce(%m init: %izero) applies stablehlo.add across dimensions = [0, 1] : (tensor<13x6xi32>, tensor<i32>) -> tensor<i32>
  %5 = stablehlo.reduce(%m init: %ione) applies stablehlo.multiply across dimensions = [0] : (tensor<13x6xi32>, tensor<i32>) -> tensor<6xi32>
  return %0, %1, %2, %3, %4, %5 : tensor<6xf32>, tensor<6xf32>, tensor<13xf32>, tensor<6xi32>, tensor<i32>, tensor<6xi32>
}
