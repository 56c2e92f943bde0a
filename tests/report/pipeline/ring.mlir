module @jit_ring attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["stage"=4]> {stablehlo.mesh = {axes = [{name = "stage", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {}, {}]>}, %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {}]>}) -> (tensor<16x4xf32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"stage"}, {}, {}]>, <@mesh, [{"stage"}, {}]>] out_shardings=[<@mesh, [{"stage"}, {}]>] manual_axes={"stage"} (%arg2: tensor<1x8x8xf32>, %arg3: tensor<4x8xf32>) {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
      %c = stablehlo.constant dense<0> : tensor<i32>
      %2:5 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %arg3, %iterArg_1 = %c, %iterArg_2 = %arg3, %iterArg_3 = %1) : tensor<1x8x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<4x8xf32>, tensor<4x4xf32>
      cond {
        %c_4 = stablehlo.constant dense<4> : tensor<i32>
        %3 = stablehlo.compare LT, %iterArg_1, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        %3:2 = func.call @closed_call(%iterArg, %iterArg_0, %iterArg_2, %iterArg_3) : (tensor<1x8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>)
        %c_4 = stablehlo.constant dense<1> : tensor<i32>
        %4 = stablehlo.add %iterArg_1, %c_4 : tensor<i32>
        stablehlo.return %iterArg, %iterArg_0, %4, %3#0, %3#1 : tensor<1x8x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<4x8xf32>, tensor<4x4xf32>
      }
      sdy.return %2#4 : tensor<4x4xf32>
    } : (tensor<4x8x8xf32>, tensor<16x8xf32>) -> tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
  func.func private @closed_call(%arg0: tensor<1x8x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>, %arg3: tensor<4x4xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %arg1, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.add %arg3, %3 : tensor<4x4xf32>
    %5 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %5, %4 : tensor<4x8xf32>, tensor<4x4xf32>
  }
}
