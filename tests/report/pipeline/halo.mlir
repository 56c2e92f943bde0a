module @jit_halo attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["stage"=4]> {stablehlo.mesh = {axes = [{name = "stage", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {}]>}) -> (tensor<16x8xf32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {}]>, <@mesh, [{"stage"}, {}]>] out_shardings=[<@mesh, [{"stage"}, {}]>] manual_axes={"stage"} (%arg2: tensor<8x8xf32>, %arg3: tensor<4x8xf32>) {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %1:3 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %c, %iterArg_1 = %arg3) : tensor<8x8xf32>, tensor<i32>, tensor<4x8xf32>
      cond {
        %c_2 = stablehlo.constant dense<6> : tensor<i32>
        %2 = stablehlo.compare LT, %iterArg_0, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = func.call @closed_call(%iterArg, %iterArg_1) : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
        %c_2 = stablehlo.constant dense<1> : tensor<i32>
        %3 = stablehlo.add %iterArg_0, %c_2 : tensor<i32>
        stablehlo.return %iterArg, %3, %2 : tensor<8x8xf32>, tensor<i32>, tensor<4x8xf32>
      }
      sdy.return %1#2 : tensor<4x8xf32>
    } : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
  func.func private @closed_call(%arg0: tensor<8x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.slice %arg1 [3:4, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %2 = stablehlo.slice %arg1 [0:3, 0:8] : (tensor<4x8xf32>) -> tensor<3x8xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1x8xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.dot_general %3, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %5 = stablehlo.tanh %4 : tensor<4x8xf32>
    return %5 : tensor<4x8xf32>
  }
}
