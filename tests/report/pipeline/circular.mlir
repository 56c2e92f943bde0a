module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["stage"=4]> {stablehlo.mesh = {axes = [{name = "stage", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x3x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {}, {}, {}]>}, %arg1: tensor<4x2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<4x2x8xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xi32>) -> tensor<4x1x1xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x1x1xi32>
    %3 = stablehlo.compare EQ, %1, %2, SIGNED : (tensor<4x1x1xi32>, tensor<4x1x1xi32>) -> tensor<4x1x1xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %7 = stablehlo.iota dim = 0 : tensor<15xi32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<15x2x8xf32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %9:9 = stablehlo.while(%iterArg = %7, %iterArg_3 = %arg1, %iterArg_4 = %3, %iterArg_5 = %0, %iterArg_6 = %arg0, %iterArg_7 = %c_2, %iterArg_8 = %5, %iterArg_9 = %6, %iterArg_10 = %8) : tensor<15xi32>, tensor<4x2x8xf32>, tensor<4x1x1xi1>, tensor<4xi32>, tensor<4x3x8x8xf32>, tensor<i32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<15x2x8xf32>
    cond {
      %c_11 = stablehlo.constant dense<15> : tensor<i32>
      %11 = stablehlo.compare LT, %iterArg_7, %c_11, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    } do {
      %11 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_7) : (tensor<15xi32>, tensor<i32>) -> tensor<i32>
      %12:3 = func.call @closed_call(%iterArg_3, %iterArg_4, %iterArg_5, %iterArg_6, %iterArg_8, %iterArg_9, %11) : (tensor<4x2x8xf32>, tensor<4x1x1xi1>, tensor<4xi32>, tensor<4x3x8x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<i32>) -> (tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<2x8xf32>)
      %13 = func.call @dynamic_update_index_in_dim_6(%iterArg_10, %12#2, %iterArg_7) : (tensor<15x2x8xf32>, tensor<2x8xf32>, tensor<i32>) -> tensor<15x2x8xf32>
      %c_11 = stablehlo.constant dense<1> : tensor<i32>
      %14 = stablehlo.add %iterArg_7, %c_11 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_3, %iterArg_4, %iterArg_5, %iterArg_6, %14, %12#0, %12#1, %13 : tensor<15xi32>, tensor<4x2x8xf32>, tensor<4x1x1xi1>, tensor<4xi32>, tensor<4x3x8x8xf32>, tensor<i32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<15x2x8xf32>
    }
    %10 = stablehlo.slice %9#8 [11:15, 0:2, 0:8] : (tensor<15x2x8xf32>) -> tensor<4x2x8xf32>
    return %10 : tensor<4x2x8xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<15xi32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<15xi32>, tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
    return %1 : tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<4x2x8xf32>, %arg1: tensor<4x1x1xi1>, %arg2: tensor<4xi32>, %arg3: tensor<4x3x8x8xf32>, %arg4: tensor<4x2x8xf32>, %arg5: tensor<4x2x8xf32>, %arg6: tensor<i32>) -> (tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<2x8xf32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %0 = call @remainder(%arg6, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @dynamic_index_in_dim_0(%arg0, %0) : (tensor<4x2x8xf32>, tensor<i32>) -> tensor<1x2x8xf32>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %2 = call @remainder(%arg6, %c_0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = call @dynamic_index_in_dim_1(%arg5, %2) : (tensor<4x2x8xf32>, tensor<i32>) -> tensor<1x2x8xf32>
    %c_1 = stablehlo.constant dense<4> : tensor<i32>
    %4 = stablehlo.compare LT, %arg6, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = call @_where_2(%4, %1, %3) : (tensor<i1>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
    %6 = call @_where_3(%arg1, %5, %arg4) : (tensor<4x1x1xi1>, tensor<1x2x8xf32>, tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
    %7 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %8 = stablehlo.subtract %7, %arg2 : tensor<4xi32>
    %c_2 = stablehlo.constant dense<4> : tensor<i32>
    %9 = call @floor_divide(%8, %c_2) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<2> : tensor<i32>
    %10 = call @clip(%9, %c_3, %c_4) : (tensor<4xi32>, tensor<i32>, tensor<i32>) -> tensor<4xi32>
    %11 = call @dynamic_index_in_dim_5(%arg3, %10) : (tensor<4x3x8x8xf32>, tensor<4xi32>) -> tensor<4x8x8xf32>
    %12 = sdy.sharding_constraint %6 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %13 = stablehlo.dot_general %12, %11, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8xf32>, tensor<4x8x8xf32>) -> tensor<4x2x8xf32>
    %14 = stablehlo.tanh %13 : tensor<4x2x8xf32>
    %15 = sdy.sharding_constraint %14 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %16 = call @_roll_static(%15) : (tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
    %17 = sdy.sharding_constraint %16 <@mesh, [{"stage"}, {}, {}]> : tensor<4x2x8xf32>
    %c_5 = stablehlo.constant dense<3> : tensor<i32>
    %18 = stablehlo.subtract %arg6, %c_5 : tensor<i32>
    %c_6 = stablehlo.constant dense<4> : tensor<i32>
    %19 = call @remainder(%18, %c_6) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %20 = stablehlo.slice %17 [0:1, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
    %21 = stablehlo.reshape %20 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %22 = call @dynamic_update_index_in_dim(%arg5, %21, %19) : (tensor<4x2x8xf32>, tensor<2x8xf32>, tensor<i32>) -> tensor<4x2x8xf32>
    %23 = stablehlo.slice %15 [3:4, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
    %24 = stablehlo.reshape %23 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    return %17, %22, %24 : tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<2x8xf32>
  }
  func.func private @remainder(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.remainder %arg0, %2 : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.compare NE, %3, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.compare LT, %3, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.compare NE, %5, %6, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %8 = stablehlo.and %7, %4 : tensor<i1>
    %9 = stablehlo.add %3, %2 : tensor<i32>
    %10 = stablehlo.select %8, %9, %3 : tensor<i1>, tensor<i32>
    return %10 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<4x2x8xf32>, %arg1: tensor<i32>) -> tensor<1x2x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %arg0, %2, %c_1, %c_2, sizes = [1, 2, 8] : (tensor<4x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    return %3 : tensor<1x2x8xf32>
  }
  func.func private @dynamic_index_in_dim_1(%arg0: tensor<4x2x8xf32>, %arg1: tensor<i32>) -> tensor<1x2x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %arg0, %2, %c_1, %c_2, sizes = [1, 2, 8] : (tensor<4x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    return %3 : tensor<1x2x8xf32>
  }
  func.func private @_where_2(%arg0: tensor<i1>, %arg1: tensor<1x2x8xf32>, %arg2: tensor<1x2x8xf32>) -> tensor<1x2x8xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<1x2x8xf32>
    return %0 : tensor<1x2x8xf32>
  }
  func.func private @_where_3(%arg0: tensor<4x1x1xi1>, %arg1: tensor<1x2x8xf32>, %arg2: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<4x1x1xi1>) -> tensor<4x2x8xi1>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2] : (tensor<1x2x8xf32>) -> tensor<4x2x8xf32>
    %2 = stablehlo.select %0, %1, %arg2 : tensor<4x2x8xi1>, tensor<4x2x8xf32>
    return %2 : tensor<4x2x8xf32>
  }
  func.func private @floor_divide(%arg0: tensor<4xi32>, %arg1: tensor<i32>) -> tensor<4xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %2 = stablehlo.divide %arg0, %1 : tensor<4xi32>
    %3 = stablehlo.sign %arg0 : tensor<4xi32>
    %4 = stablehlo.sign %0 : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %6 = stablehlo.compare NE, %3, %5, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %8 = stablehlo.remainder %arg0, %7 : tensor<4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %10 = stablehlo.compare NE, %8, %9, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %11 = stablehlo.and %6, %10 : tensor<4xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %12 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %13 = stablehlo.subtract %2, %12 : tensor<4xi32>
    %14 = call @_where_4(%11, %13, %2) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    return %14 : tensor<4xi32>
  }
  func.func private @_where_4(%arg0: tensor<4xi1>, %arg1: tensor<4xi32>, %arg2: tensor<4xi32>) -> tensor<4xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4xi1>, tensor<4xi32>
    return %0 : tensor<4xi32>
  }
  func.func private @clip(%arg0: tensor<4xi32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<4xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<4xi32>
    %3 = stablehlo.convert %arg2 : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %5 = stablehlo.minimum %4, %2 : tensor<4xi32>
    return %5 : tensor<4xi32>
  }
  func.func private @dynamic_index_in_dim_5(%arg0: tensor<4x3x8x8xf32>, %arg1: tensor<4xi32>) -> tensor<4x8x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4xi1>, tensor<4xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %8 = stablehlo.concatenate %5, %6, %7, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x3xi32>
    %9 = "stablehlo.gather"(%arg0, %8) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2, 3], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1, 8, 8>}> : (tensor<4x3x8x8xf32>, tensor<4x3xi32>) -> tensor<4x1x8x8xf32>
    %10 = stablehlo.reshape %9 : (tensor<4x1x8x8xf32>) -> tensor<4x8x8xf32>
    return %10 : tensor<4x8x8xf32>
  }
  func.func private @_roll_static(%arg0: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.slice %arg0 [3:4, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
    %1 = stablehlo.slice %arg0 [0:3, 0:2, 0:8] : (tensor<4x2x8xf32>) -> tensor<3x2x8xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x2x8xf32>, tensor<3x2x8xf32>) -> tensor<4x2x8xf32>
    return %2 : tensor<4x2x8xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<4x2x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i32>) -> tensor<4x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare LT, %arg2, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %2 = stablehlo.add %arg2, %c_0 : tensor<i32>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_update_slice %arg0, %0, %3, %c_1, %c_2 : (tensor<4x2x8xf32>, tensor<1x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x8xf32>
    return %4 : tensor<4x2x8xf32>
  }
  func.func private @dynamic_update_index_in_dim_6(%arg0: tensor<15x2x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<i32>) -> tensor<15x2x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<15x2x8xf32>, tensor<1x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<15x2x8xf32>
    return %1 : tensor<15x2x8xf32>
  }
}
