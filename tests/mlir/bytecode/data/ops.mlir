module @ops attributes {mhlo.num_partitions = 4 : i32, test.flags = dense<[true, false, true]> : tensor<3xi1>} {
  func.func public @main(%arg0: tensor<4x8xf32> {jax.buffer_donor = true} loc("x"), %arg1: tensor<8x16xf32> loc("w"), %arg2: tensor<i32>) -> (tensor<4x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc("dot"("model.py":3:5))
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    %4 = stablehlo.select %3, %0, %2 : tensor<4x16xi1>, tensor<4x16xf32> loc(callsite("relu"("model.py":4:1) at fused["a.py":1:1, "b.py":2:2]))
    %5:2 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %4) : tensor<i32>, tensor<4x16xf32>
    cond {
      %7 = stablehlo.constant dense<10> : tensor<i32>
      %8 = stablehlo.compare LT, %iterArg, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %7 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %7 : tensor<i32>
      %9 = func.call @scale(%iterArg_0) : (tensor<4x16xf32>) -> tensor<4x16xf32>
      stablehlo.return %8, %9 : tensor<i32>, tensor<4x16xf32>
    }
    %6 = stablehlo.custom_call @target(%5#1) {backend_config = "a\22b", has_side_effect = true, api_version = 2 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    return %6 : tensor<4x16xf32>
  }
  func.func private @scale(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.exponential %arg0 : tensor<4x16xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = stablehlo.slice %1 [0:4, 0:16] : (tensor<4x16xf32>) -> tensor<4x16xf32>
    return %2 : tensor<4x16xf32>
  }
  func.func private @windows(%arg0: tensor<1x8x8x3xbf16>, %arg1: tensor<3x3x3x4xbf16>, %arg2: tensor<10x4xi8>, %arg3: tensor<2x1xi32>) -> tuple<tensor<1x8x8x4xbf16>, tensor<2x4xi8>> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xbf16>, tensor<3x3x3x4xbf16>) -> tensor<1x8x8x4xbf16>
    %1 = "stablehlo.gather"(%arg2, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xi8>, tensor<2x1xi32>) -> tensor<2x4xi8>
    %2 = stablehlo.tuple %0, %1 {xla_shape = "(bf16, s8)"} : tuple<tensor<1x8x8x4xbf16>, tensor<2x4xi8>>
    return %2 : tuple<tensor<1x8x8x4xbf16>, tensor<2x4xi8>>
  }
  func.func private @numbers() -> (tensor<2xcomplex<f32>>, tensor<3xf8E4M3FN>, tensor<2x2xi4>, tensor<11xi1>, tensor<2xui8>) {
    %0 = stablehlo.constant dense<[(1.000000e+00,-2.000000e+00), (0.000000e+00,3.000000e+00)]> : tensor<2xcomplex<f32>>
    %1 = stablehlo.constant dense<[1.000000e+00, 0x7F, -2.000000e+00]> : tensor<3xf8E4M3FN>
    %2 = stablehlo.constant dense<[[1, -2], [7, -8]]> : tensor<2x2xi4>
    %3 = stablehlo.constant dense<[true, false, false, true, true, true, false, true, false, true, true]> : tensor<11xi1>
    %4 = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
    return %0, %1, %2, %3, %4 : tensor<2xcomplex<f32>>, tensor<3xf8E4M3FN>, tensor<2x2xi4>, tensor<11xi1>, tensor<2xui8>
  }
}
