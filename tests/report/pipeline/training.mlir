module @jit__lambda attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["stage"=4]> {stablehlo.mesh = {axes = [{name = "stage", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {}, {}]>}, %arg1: tensor<5x2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<4x8x8xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xi32>) -> tensor<4x1x1xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x1x1xi32>
    %3 = stablehlo.compare EQ, %1, %2, SIGNED : (tensor<4x1x1xi32>, tensor<4x1x1xi32>) -> tensor<4x1x1xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %6 = stablehlo.iota dim = 0 : tensor<8xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<4> : tensor<i32>
    %7:2 = call @clip(%c_0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %8 = call @_where(%3) : (tensor<4x1x1xi1>) -> tensor<4x2x8xi1>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x2x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x4x2x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x4x2x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x4x2x8xf32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %13:13 = stablehlo.while(%iterArg = %6, %iterArg_15 = %7#0, %iterArg_16 = %7#1, %iterArg_17 = %arg1, %iterArg_18 = %8, %iterArg_19 = %arg0, %iterArg_20 = %cst_2, %iterArg_21 = %c_7, %iterArg_22 = %5, %iterArg_23 = %9, %iterArg_24 = %10, %iterArg_25 = %11, %iterArg_26 = %12) : tensor<8xi32>, tensor<i32>, tensor<i32>, tensor<5x2x8xf32>, tensor<4x2x8xi1>, tensor<4x8x8xf32>, tensor<f32>, tensor<i32>, tensor<4x2x8xf32>, tensor<8x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>
    cond {
      %c_27 = stablehlo.constant dense<8> : tensor<i32>
      %24 = stablehlo.compare LT, %iterArg_21, %c_27, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %24 : tensor<i1>
    } do {
      %24 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_21) : (tensor<8xi32>, tensor<i32>) -> tensor<i32>
      %25:5 = func.call @closed_call(%iterArg_15, %iterArg_16, %iterArg_17, %iterArg_18, %iterArg_19, %iterArg_20, %iterArg_22, %24) : (tensor<i32>, tensor<i32>, tensor<5x2x8xf32>, tensor<4x2x8xi1>, tensor<4x8x8xf32>, tensor<f32>, tensor<4x2x8xf32>, tensor<i32>) -> (tensor<4x2x8xf32>, tensor<2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>)
      %26 = func.call @dynamic_update_index_in_dim(%iterArg_23, %25#1, %iterArg_21) : (tensor<8x2x8xf32>, tensor<2x8xf32>, tensor<i32>) -> tensor<8x2x8xf32>
      %27 = func.call @dynamic_update_index_in_dim_3(%iterArg_24, %25#2, %iterArg_21) : (tensor<8x4x2x8xf32>, tensor<4x2x8xf32>, tensor<i32>) -> tensor<8x4x2x8xf32>
      %28 = func.call @dynamic_update_index_in_dim_3(%iterArg_25, %25#3, %iterArg_21) : (tensor<8x4x2x8xf32>, tensor<4x2x8xf32>, tensor<i32>) -> tensor<8x4x2x8xf32>
      %29 = func.call @dynamic_update_index_in_dim_3(%iterArg_26, %25#4, %iterArg_21) : (tensor<8x4x2x8xf32>, tensor<4x2x8xf32>, tensor<i32>) -> tensor<8x4x2x8xf32>
      %c_27 = stablehlo.constant dense<1> : tensor<i32>
      %30 = stablehlo.add %iterArg_21, %c_27 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_15, %iterArg_16, %iterArg_17, %iterArg_18, %iterArg_19, %iterArg_20, %30, %25#0, %26, %27, %28, %29 : tensor<8xi32>, tensor<i32>, tensor<i32>, tensor<5x2x8xf32>, tensor<4x2x8xi1>, tensor<4x8x8xf32>, tensor<f32>, tensor<i32>, tensor<4x2x8xf32>, tensor<8x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>
    }
    %14 = stablehlo.slice %13#9 [3:8, 0:2, 0:8] : (tensor<8x2x8xf32>) -> tensor<5x2x8xf32>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<5x2x8xf32>
    %16 = stablehlo.multiply %15, %14 : tensor<5x2x8xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_10 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %17 = stablehlo.divide %cst_9, %cst_10 : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<5x2x8xf32>
    %19 = stablehlo.multiply %18, %16 : tensor<5x2x8xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.pad %19, %cst_11, low = [3, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<5x2x8xf32>, tensor<f32>) -> tensor<8x2x8xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4x8x8xf32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %23:9 = stablehlo.while(%iterArg = %20, %iterArg_15 = %13#10, %iterArg_16 = %13#11, %iterArg_17 = %13#12, %iterArg_18 = %8, %iterArg_19 = %arg0, %iterArg_20 = %c_14, %iterArg_21 = %22, %iterArg_22 = %21) : tensor<8x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>, tensor<4x2x8xi1>, tensor<4x8x8xf32>, tensor<i32>, tensor<4x8x8xf32>, tensor<4x2x8xf32>
    cond {
      %c_23 = stablehlo.constant dense<8> : tensor<i32>
      %24 = stablehlo.compare LT, %iterArg_20, %c_23, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %24 : tensor<i1>
    } do {
      %c_23 = stablehlo.constant dense<8> : tensor<i32>
      %24 = stablehlo.subtract %c_23, %iterArg_20 : tensor<i32>
      %c_24 = stablehlo.constant dense<1> : tensor<i32>
      %25 = stablehlo.subtract %24, %c_24 : tensor<i32>
      %26 = func.call @dynamic_index_in_dim_4(%iterArg, %25) : (tensor<8x2x8xf32>, tensor<i32>) -> tensor<2x8xf32>
      %27 = func.call @dynamic_index_in_dim_5(%iterArg_15, %25) : (tensor<8x4x2x8xf32>, tensor<i32>) -> tensor<4x2x8xf32>
      %28 = func.call @dynamic_index_in_dim_5(%iterArg_16, %25) : (tensor<8x4x2x8xf32>, tensor<i32>) -> tensor<4x2x8xf32>
      %29 = func.call @dynamic_index_in_dim_5(%iterArg_17, %25) : (tensor<8x4x2x8xf32>, tensor<i32>) -> tensor<4x2x8xf32>
      %30:2 = func.call @closed_call_6(%iterArg_18, %iterArg_19, %iterArg_21, %iterArg_22, %26, %27, %28, %29) : (tensor<4x2x8xi1>, tensor<4x8x8xf32>, tensor<4x8x8xf32>, tensor<4x2x8xf32>, tensor<2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>) -> (tensor<4x8x8xf32>, tensor<4x2x8xf32>)
      %c_25 = stablehlo.constant dense<1> : tensor<i32>
      %31 = stablehlo.add %iterArg_20, %c_25 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_15, %iterArg_16, %iterArg_17, %iterArg_18, %iterArg_19, %31, %30#0, %30#1 : tensor<8x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>, tensor<8x4x2x8xf32>, tensor<4x2x8xi1>, tensor<4x8x8xf32>, tensor<i32>, tensor<4x8x8xf32>, tensor<4x2x8xf32>
    }
    return %23#7 : tensor<4x8x8xf32>
  }
  func.func private @clip(%arg0: tensor<i32>, %arg1: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = stablehlo.convert %arg0 : tensor<i32>
    %1 = stablehlo.convert %arg1 : tensor<i32>
    return %1, %0 : tensor<i32>, tensor<i32>
  }
  func.func private @_where(%arg0: tensor<4x1x1xi1>) -> tensor<4x2x8xi1> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<4x1x1xi1>) -> tensor<4x2x8xi1>
    return %0 : tensor<4x2x8xi1>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<8xi32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
    return %1 : tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<5x2x8xf32>, %arg3: tensor<4x2x8xi1>, %arg4: tensor<4x8x8xf32>, %arg5: tensor<f32>, %arg6: tensor<4x2x8xf32>, %arg7: tensor<i32>) -> (tensor<4x2x8xf32>, tensor<2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>) {
    %0 = call @clip_0(%arg7, %arg0, %arg1) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @dynamic_index_in_dim_1(%0, %arg2) : (tensor<i32>, tensor<5x2x8xf32>) -> tensor<1x2x8xf32>
    %2 = call @_where_2(%1, %arg6, %arg3) : (tensor<1x2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xi1>) -> tensor<4x2x8xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %4 = stablehlo.dot_general %3, %arg4, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8xf32>, tensor<4x8x8xf32>) -> tensor<4x2x8xf32>
    %5 = stablehlo.tanh %4 : tensor<4x2x8xf32>
    %6 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %7 = stablehlo.subtract %6, %5 : tensor<4x2x8xf32>
    %8 = sdy.sharding_constraint %5 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %9 = call @_roll_static(%8) : (tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
    %10 = sdy.sharding_constraint %9 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %11 = stablehlo.slice %8 [3:4, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
    %12 = stablehlo.reshape %11 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    return %10, %12, %3, %5, %7 : tensor<4x2x8xf32>, tensor<2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>
  }
  func.func private @clip_0(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.maximum %arg2, %arg0 : tensor<i32>
    %1 = stablehlo.minimum %arg1, %0 : tensor<i32>
    return %1 : tensor<i32>
  }
  func.func private @dynamic_index_in_dim_1(%arg0: tensor<i32>, %arg1: tensor<5x2x8xf32>) -> tensor<1x2x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.add %arg0, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg0 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %arg1, %2, %c_1, %c_2, sizes = [1, 2, 8] : (tensor<5x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    return %3 : tensor<1x2x8xf32>
  }
  func.func private @_where_2(%arg0: tensor<1x2x8xf32>, %arg1: tensor<4x2x8xf32>, %arg2: tensor<4x2x8xi1>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<1x2x8xf32>) -> tensor<4x2x8xf32>
    %1 = stablehlo.select %arg2, %0, %arg1 : tensor<4x2x8xi1>, tensor<4x2x8xf32>
    return %1 : tensor<4x2x8xf32>
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
  func.func private @dynamic_update_index_in_dim_3(%arg0: tensor<8x4x2x8xf32>, %arg1: tensor<4x2x8xf32>, %arg2: tensor<i32>) -> tensor<8x4x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<4x2x8xf32>) -> tensor<1x4x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<8x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x4x2x8xf32>
    return %1 : tensor<8x4x2x8xf32>
  }
  func.func private @dynamic_index_in_dim_4(%arg0: tensor<8x2x8xf32>, %arg1: tensor<i32>) -> tensor<2x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 8] : (tensor<8x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    return %1 : tensor<2x8xf32>
  }
  func.func private @dynamic_index_in_dim_5(%arg0: tensor<8x4x2x8xf32>, %arg1: tensor<i32>) -> tensor<4x2x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 4, 2, 8] : (tensor<8x4x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x2x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x2x8xf32>) -> tensor<4x2x8xf32>
    return %1 : tensor<4x2x8xf32>
  }
  func.func private @closed_call_6(%arg0: tensor<4x2x8xi1>, %arg1: tensor<4x8x8xf32>, %arg2: tensor<4x8x8xf32>, %arg3: tensor<4x2x8xf32>, %arg4: tensor<2x8xf32>, %arg5: tensor<4x2x8xf32>, %arg6: tensor<4x2x8xf32>, %arg7: tensor<4x2x8xf32>) -> (tensor<4x8x8xf32>, tensor<4x2x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %0, %cst, low = [3, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x2x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %2 = sdy.sharding_constraint %arg3 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %3 = call @_roll_static_7(%2) : (tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
    %4 = stablehlo.add %1, %3 : tensor<4x2x8xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %6 = stablehlo.multiply %5, %arg7 : tensor<4x2x8xf32>
    %7 = stablehlo.multiply %6, %arg6 : tensor<4x2x8xf32>
    %8 = stablehlo.add %6, %7 : tensor<4x2x8xf32>
    %9 = stablehlo.dot_general %8, %arg5, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8xf32>, tensor<4x2x8xf32>) -> tensor<4x8x8xf32>
    %10 = stablehlo.transpose %9, dims = [0, 2, 1] : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    %11 = stablehlo.add %arg2, %10 : tensor<4x8x8xf32>
    %12 = stablehlo.dot_general %8, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8xf32>, tensor<4x8x8xf32>) -> tensor<4x2x8xf32>
    %13 = sdy.sharding_constraint %12 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %14 = call @_where_8(%arg0, %13) : (tensor<4x2x8xi1>, tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
    return %11, %14 : tensor<4x8x8xf32>, tensor<4x2x8xf32>
  }
  func.func private @_roll_static_7(%arg0: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.slice %arg0 [0:1, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
    %1 = stablehlo.slice %arg0 [1:4, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<3x2x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %1, %cst, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<3x2x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.pad %0, %cst_0, low = [3, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x2x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %4 = stablehlo.add %2, %3 : tensor<4x2x8xf32>
    return %4 : tensor<4x2x8xf32>
  }
  func.func private @_where_8(%arg0: tensor<4x2x8xi1>, %arg1: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %1 = stablehlo.select %arg0, %0, %arg1 : tensor<4x2x8xi1>, tensor<4x2x8xf32>
    return %1 : tensor<4x2x8xf32>
  }
}
