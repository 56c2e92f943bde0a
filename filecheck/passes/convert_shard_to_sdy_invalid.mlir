// RUN: sdy-opt %s --split-input-file --verify-diagnostics --convert-shard-to-sdy

// expected-error @+1 {{'shard.grid' op has a dimension of unknown size: expected positive sizes}}
shard.grid @grid(shape = 2x?)

// -----

shard.grid @grid(shape = 2x4)
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{'shard.sharding' op has halos or shard offsets, which are not representable in sdy}}
  %s0 = shard.sharding @grid split_axes = [[0]] halo_sizes = [1, 2] : !shard.sharding
  %0 = shard.shard %arg0 to %s0 : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

shard.grid @grid(shape = 2x4)
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{'shard.sharding' op splits along grid axes [0, 0]: expected each of 0 to 1 at most once}}
  %s0 = shard.sharding @grid split_axes = [[0], [0]] : !shard.sharding
  %0 = shard.shard %arg0 to %s0 : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

shard.grid @grid(shape = 2x4)
func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{'shard.all_reduce' op is not representable in sdy: expected grids, shardings and annotations of global tensors}}
  %0 = shard.all_reduce %arg0 on @grid grid_axes = [0] : tensor<8x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

shard.grid @grid(shape = 2x4)
func.func @main(%arg0: tensor<8x16xf32>) {
  // expected-error @+1 {{integer out of the range of its type}}
  %s0 = shard.sharding @grid split_axes = [[9223372036854775808]] : !shard.sharding
  return
}
