module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["stage"=4]> {stablehlo.mesh = {axes = [{name = "stage", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {}, {}]>}, %arg1: tensor<6x2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<6x2x8xf32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"stage"}, {}, {}]>, <@mesh, [{}, {}, {}]>] out_shardings=[<@mesh, [{"stage"}, {}, {}, {}]>] manual_axes={"stage"} (%arg2: tensor<1x8x8xf32>, %arg3: tensor<6x2x8xf32>) {
      %c = stablehlo.constant dense<1> : tensor<ui32>
      %c_0 = stablehlo.constant dense<4> : tensor<ui32>
      %3 = stablehlo.partition_id : tensor<ui32>
      %4 = stablehlo.divide %3, %c : tensor<ui32>
      %5 = stablehlo.remainder %4, %c_0 : tensor<ui32>
      %6 = stablehlo.convert %5 : (tensor<ui32>) -> tensor<i32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x2x8xf32>
      %9 = stablehlo.iota dim = 0 : tensor<12xi32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %10:8 = stablehlo.while(%iterArg = %9, %iterArg_3 = %arg3, %iterArg_4 = %arg2, %iterArg_5 = %6, %iterArg_6 = %c_2, %iterArg_7 = %7, %iterArg_8 = %7, %iterArg_9 = %8) : tensor<12xi32>, tensor<6x2x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>
      cond {
        %c_10 = stablehlo.constant dense<12> : tensor<i32>
        %12 = stablehlo.compare LT, %iterArg_6, %c_10, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %12 : tensor<i1>
      } do {
        %12 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_6) : (tensor<12xi32>, tensor<i32>) -> tensor<i32>
        %13:3 = func.call @closed_call(%iterArg_3, %iterArg_4, %iterArg_5, %iterArg_7, %iterArg_8, %iterArg_9, %12) : (tensor<6x2x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>, tensor<i32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>)
        %c_10 = stablehlo.constant dense<1> : tensor<i32>
        %14 = stablehlo.add %iterArg_6, %c_10 : tensor<i32>
        stablehlo.return %iterArg, %iterArg_3, %iterArg_4, %iterArg_5, %14, %13#0, %13#1, %13#2 : tensor<12xi32>, tensor<6x2x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>
      }
      %11 = stablehlo.broadcast_in_dim %10#7, dims = [1, 2, 3] : (tensor<6x2x8xf32>) -> tensor<1x6x2x8xf32>
      sdy.return %11 : tensor<1x6x2x8xf32>
    } : (tensor<4x8x8xf32>, tensor<6x2x8xf32>) -> tensor<4x6x2x8xf32>
    %1 = stablehlo.slice %0 [3:4, 0:6, 0:2, 0:8] : (tensor<4x6x2x8xf32>) -> tensor<1x6x2x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x6x2x8xf32>) -> tensor<6x2x8xf32>
    return %2 : tensor<6x2x8xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<12xi32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<12xi32>, tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
    return %1 : tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<6x2x8xf32>, %arg1: tensor<1x8x8xf32>, %arg2: tensor<i32>, %arg3: tensor<2x8xf32>, %arg4: tensor<2x8xf32>, %arg5: tensor<6x2x8xf32>, %arg6: tensor<i32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %0 = call @clip(%arg6, %c, %c_0) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @dynamic_index_in_dim_0(%arg0, %0) : (tensor<6x2x8xf32>, tensor<i32>) -> tensor<2x8xf32>
    %2 = stablehlo.reshape %arg1 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.compare EQ, %arg2, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = call @_where(%3, %1, %arg3) : (tensor<i1>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %5 = stablehlo.dot_general %4, %2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %6 = stablehlo.tanh %5 : tensor<2x8xf32>
    %7 = "stablehlo.collective_permute"(%arg4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %c_2 = stablehlo.constant dense<6> : tensor<i32>
    %8 = stablehlo.subtract %arg6, %c_2 : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<5> : tensor<i32>
    %9 = call @clip(%8, %c_3, %c_4) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %10 = call @dynamic_update_index_in_dim(%arg5, %6, %9) : (tensor<6x2x8xf32>, tensor<2x8xf32>, tensor<i32>) -> tensor<6x2x8xf32>
    %c_5 = stablehlo.constant dense<6> : tensor<i32>
    %11 = stablehlo.compare GE, %arg6, %c_5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %12 = call @_where_1(%11, %10, %arg5) : (tensor<i1>, tensor<6x2x8xf32>, tensor<6x2x8xf32>) -> tensor<6x2x8xf32>
    return %7, %6, %12 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>
  }
  func.func private @clip(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.maximum %0, %arg0 : tensor<i32>
    %2 = stablehlo.convert %arg2 : tensor<i32>
    %3 = stablehlo.minimum %2, %1 : tensor<i32>
    return %3 : tensor<i32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<6x2x8xf32>, %arg1: tensor<i32>) -> tensor<2x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<6> : tensor<i32>
    %1 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %arg0, %2, %c_1, %c_2, sizes = [1, 2, 8] : (tensor<6x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %4 = stablehlo.reshape %3 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    return %4 : tensor<2x8xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x8xf32>, %arg2: tensor<2x8xf32>) -> tensor<2x8xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<6x2x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i32>) -> tensor<6x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare LT, %arg2, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<6> : tensor<i32>
    %2 = stablehlo.add %arg2, %c_0 : tensor<i32>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_update_slice %arg0, %0, %3, %c_1, %c_2 : (tensor<6x2x8xf32>, tensor<1x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x2x8xf32>
    return %4 : tensor<6x2x8xf32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<6x2x8xf32>, %arg2: tensor<6x2x8xf32>) -> tensor<6x2x8xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<6x2x8xf32>
    return %0 : tensor<6x2x8xf32>
  }
}
