module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["stage"=4]> {stablehlo.mesh = {axes = [{name = "stage", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {}, {}]>}, %arg1: tensor<5x2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<5x2x8xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xi32>) -> tensor<4x1x1xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x1x1xi32>
    %3 = stablehlo.compare EQ, %1, %2, SIGNED : (tensor<4x1x1xi32>, tensor<4x1x1xi32>) -> tensor<4x1x1xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %6 = stablehlo.iota dim = 0 : tensor<8xi32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x2x8xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %8:7 = stablehlo.while(%iterArg = %6, %iterArg_2 = %arg1, %iterArg_3 = %3, %iterArg_4 = %arg0, %iterArg_5 = %c_1, %iterArg_6 = %5, %iterArg_7 = %7) : tensor<8xi32>, tensor<5x2x8xf32>, tensor<4x1x1xi1>, tensor<4x8x8xf32>, tensor<i32>, tensor<4x2x8xf32>, tensor<8x2x8xf32>
    cond {
      %c_8 = stablehlo.constant dense<8> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg_5, %c_8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_5) : (tensor<8xi32>, tensor<i32>) -> tensor<i32>
      %11:2 = func.call @closed_call(%iterArg_2, %iterArg_3, %iterArg_4, %iterArg_6, %10) : (tensor<5x2x8xf32>, tensor<4x1x1xi1>, tensor<4x8x8xf32>, tensor<4x2x8xf32>, tensor<i32>) -> (tensor<4x2x8xf32>, tensor<2x8xf32>)
      %12 = func.call @dynamic_update_index_in_dim(%iterArg_7, %11#1, %iterArg_5) : (tensor<8x2x8xf32>, tensor<2x8xf32>, tensor<i32>) -> tensor<8x2x8xf32>
      %c_8 = stablehlo.constant dense<1> : tensor<i32>
      %13 = stablehlo.add %iterArg_5, %c_8 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_2, %iterArg_3, %iterArg_4, %13, %11#0, %12 : tensor<8xi32>, tensor<5x2x8xf32>, tensor<4x1x1xi1>, tensor<4x8x8xf32>, tensor<i32>, tensor<4x2x8xf32>, tensor<8x2x8xf32>
    }
    %9 = stablehlo.slice %8#6 [3:8, 0:2, 0:8] : (tensor<8x2x8xf32>) -> tensor<5x2x8xf32>
    return %9 : tensor<5x2x8xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<8xi32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
    return %1 : tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<5x2x8xf32>, %arg1: tensor<4x1x1xi1>, %arg2: tensor<4x8x8xf32>, %arg3: tensor<4x2x8xf32>, %arg4: tensor<i32>) -> (tensor<4x2x8xf32>, tensor<2x8xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %0 = call @clip(%arg4, %c, %c_0) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @dynamic_index_in_dim_0(%arg0, %0) : (tensor<5x2x8xf32>, tensor<i32>) -> tensor<1x2x8xf32>
    %2 = call @_where(%arg1, %1, %arg3) : (tensor<4x1x1xi1>, tensor<1x2x8xf32>, tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %4 = stablehlo.dot_general %3, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8xf32>, tensor<4x8x8xf32>) -> tensor<4x2x8xf32>
    %5 = stablehlo.tanh %4 : tensor<4x2x8xf32>
    %6 = sdy.sharding_constraint %5 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %7 = call @_roll_static(%6) : (tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
    %8 = sdy.sharding_constraint %7 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %9 = stablehlo.slice %6 [3:4, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
    %10 = stablehlo.reshape %9 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    return %8, %10 : tensor<4x2x8xf32>, tensor<2x8xf32>
  }
  func.func private @clip(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.maximum %0, %arg0 : tensor<i32>
    %2 = stablehlo.convert %arg2 : tensor<i32>
    %3 = stablehlo.minimum %2, %1 : tensor<i32>
    return %3 : tensor<i32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<5x2x8xf32>, %arg1: tensor<i32>) -> tensor<1x2x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %arg0, %2, %c_1, %c_2, sizes = [1, 2, 8] : (tensor<5x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    return %3 : tensor<1x2x8xf32>
  }
  func.func private @_where(%arg0: tensor<4x1x1xi1>, %arg1: tensor<1x2x8xf32>, %arg2: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<4x1x1xi1>) -> tensor<4x2x8xi1>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2] : (tensor<1x2x8xf32>) -> tensor<4x2x8xf32>
    %2 = stablehlo.select %0, %1, %arg2 : tensor<4x2x8xi1>, tensor<4x2x8xf32>
    return %2 : tensor<4x2x8xf32>
  }
  func.func private @_roll_static(%arg0: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.slice %arg0 [3:4, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
    %1 = stablehlo.slice %arg0 [0:3, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<3x2x8xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x2x8xf32>, tensor<3x2x8xf32>) -> tensor<4x2x8xf32>
    return %2 : tensor<4x2x8xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<8x2x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i32>) -> tensor<8x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<8x2x8xf32>, tensor<1x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x2x8xf32>
    return %1 : tensor<8x2x8xf32>
  }
}
