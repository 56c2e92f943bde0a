// Ops between devices and with hosts. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @collectives(%arg0: tensor<8x4xf32>) {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<8x4xf32>) -> tensor<8x8xf32>
    %1 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %9 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) {note} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %3 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %4 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %5 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %6 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %9 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %7 = stablehlo.partition_id : tensor<ui32>
    %8 = stablehlo.replica_id : tensor<ui32>
    return
  }
  func.func @hosts(%arg0: tensor<4xf32>, %arg1: !stablehlo.token) {
    %0:2 = "stablehlo.infeed"(%arg1) <{infeed_config = "", layout = [[0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %1 = "stablehlo.outfeed"(%arg0, %arg1) <{outfeed_config = "queue"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %3:2 = "stablehlo.recv"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    return
  }
  func.func @asynchronous(%arg0: tensor<8xf32>) {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<8xf32>):
      %2 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
      stablehlo.return %2 : tensor<16xf32>
    }) : (tensor<8xf32>) -> !stablehlo.future<tensor<16xf32>>
    %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<16xf32>>) -> tensor<16xf32>
    return
  }
}
