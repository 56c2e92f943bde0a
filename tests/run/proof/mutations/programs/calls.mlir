// A function with two results that is called twice, another one of its type, parts put together.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<6x4xf32>, tensor<12x4xf32>) {
  %0:2 = func.call @f(%x, %w) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  %1:2 = func.call @f(%0#1, %0#0) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  %2:2 = func.call @g(%1#0, %x) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  %3 = stablehlo.concatenate %2#0, %2#1, dim = 0 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<12x4xf32>
  return %1#1, %3 : tensor<6x4xf32>, tensor<12x4xf32>
}
func.func private @f(%a: tensor<6x4xf32>, %b: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %0 = stablehlo.tanh %a : tensor<6x4xf32>
  %1 = stablehlo.subtract %0, %b : tensor<6x4xf32>
  return %1, %0 : tensor<6x4xf32>, tensor<6x4xf32>
}
func.func private @g(%a: tensor<6x4xf32>, %b: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %0 = stablehlo.logistic %b : tensor<6x4xf32>
  %1 = stablehlo.divide %a, %0 : tensor<6x4xf32>
  return %0, %1 : tensor<6x4xf32>, tensor<6x4xf32>
}
