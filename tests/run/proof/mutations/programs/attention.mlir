// Causal attention, heads along x, the sequence along y: softmax over a sharded dimension.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%q: tensor<4x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>},
                %k: tensor<4x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
                %v: tensor<4x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<4x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {"y"}]>]>} : (tensor<4x6x4xf32>, tensor<4x6x4xf32>) -> tensor<4x6x6xf32>
  %i = stablehlo.iota dim = 1 : tensor<4x6x6xi32>
  %j = stablehlo.iota dim = 2 : tensor<4x6x6xi32>
  %m = stablehlo.compare GE, %i, %j : (tensor<4x6x6xi32>, tensor<4x6x6xi32>) -> tensor<4x6x6xi1>
  %low = stablehlo.constant dense<-1.0e30> : tensor<4x6x6xf32>
  %ms = stablehlo.select %m, %s, %low : tensor<4x6x6xi1>, tensor<4x6x6xf32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %mx = stablehlo.reduce(%ms init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<4x6x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %mb = stablehlo.broadcast_in_dim %mx, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6x6xf32>
  %d = stablehlo.subtract %ms, %mb : tensor<4x6x6xf32>
  %e = stablehlo.exponential %d : tensor<4x6x6xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x6x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6x6xf32>
  %p = stablehlo.divide %e, %sb : tensor<4x6x6xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x6x6xf32>, tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  return %o : tensor<4x6x4xf32>
}
