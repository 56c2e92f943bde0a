// RUN: sdy-opt %s --sdy-resolve-permutation-factors=enable-windowed-halo-exchange=true | filecheck %s

sdy.mesh @mesh = <["x"=4]>

// One element from each neighbour; where there is none, the zeros of the permute are the padding.
// CHECK-LABEL: @convolution
func.func @convolution(%arg0: tensor<1x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<3x1x1xf32>) -> tensor<1x8x1xf32> {
  // CHECK: sdy.manual_computation(%arg0, %arg1) {{.*}} manual_axes={"x"} (%arg2: tensor<1x2x1xf32>, %arg3: tensor<3x1x1xf32>)
  // CHECK: %[[LAST:.*]] = stablehlo.slice %arg2 [0:1, 1:2, 0:1]
  // CHECK: %[[LEFT:.*]] = "stablehlo.collective_permute"(%[[LAST]]) {{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
  // CHECK: %[[FIRST:.*]] = stablehlo.slice %arg2 [0:1, 0:1, 0:1]
  // CHECK: %[[RIGHT:.*]] = "stablehlo.collective_permute"(%[[FIRST]]) {{.*}}dense<{{\[\[}}1, 0], [2, 1], [3, 2]]>
  // CHECK: %[[BUFFER:.*]] = stablehlo.concatenate %[[LEFT]], %arg2, %[[RIGHT]], dim = 1
  // CHECK: stablehlo.convolution(%[[BUFFER]], %arg3) {{.*}}pad = {{\[\[}}0, 0]]
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>}
    : (tensor<1x8x1xf32>, tensor<3x1x1xf32>) -> tensor<1x8x1xf32>
  return %0 : tensor<1x8x1xf32>
}

// Shardy ignores the stride. Every part reads within its own elements.
// CHECK-LABEL: @strided
func.func @strided(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK: sdy.manual_computation(%arg0)
  // CHECK-NOT: collective_permute
  // CHECK: stablehlo.slice {{.*}} [0:3:2]
  // CHECK: sdy.return
  %0 = stablehlo.slice %arg0 [0:16:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<16xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What is beyond the ends is the padding value, not the zeros of the permute.
// CHECK-LABEL: @padded
func.func @padded(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32>) -> tensor<12xf32> {
  // CHECK: stablehlo.compare GE
  // CHECK: stablehlo.compare LT
  // CHECK: stablehlo.select
  %0 = stablehlo.pad %arg0, %arg1, low = [2], high = [2], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// Parts t and 3 - t are exchanged; padding stays behind the elements.
// CHECK-LABEL: @reversed
func.func @reversed(%arg0: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<7xf32> {
  // CHECK: collective_permute{{.*}}dense<{{\[\[}}0, 2], [1, 1], [2, 0]]>
  // CHECK: collective_permute{{.*}}dense<{{\[\[}}0, 3], [1, 2], [2, 1], [3, 0]]>
  // CHECK: stablehlo.reverse
  %0 = stablehlo.reverse %arg0, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<7xf32>
  return %0 : tensor<7xf32>
}

// CHECK-LABEL: @joined
func.func @joined(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  // CHECK-NOT: sdy.reshard
  // CHECK: sdy.manual_computation(%arg0, %arg1)
  // CHECK: stablehlo.select
  %0 = sdy.reshard %arg0 <@mesh, [{}]> : tensor<8xf32>
  %1 = sdy.reshard %arg1 <@mesh, [{}]> : tensor<8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %3 = sdy.reshard %2 <@mesh, [{"x"}]> : tensor<16xf32>
  return %3 : tensor<16xf32>
}

// Even parts of other elements: rows of 24, and columns of 32.
// CHECK-LABEL: @reshaped
func.func @reshaped(%arg0: tensor<4x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3x32xf32> {
  // CHECK-NEXT: [[whole:%.+]] = sdy.reshard %arg0 <@mesh, [{}, {}]>
  // CHECK-NEXT: [[made:%.+]] = stablehlo.reshape [[whole]]
  // CHECK-NEXT: sdy.reshard [[made]] <@mesh, [{}, {"x"}]>
  %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x24xf32>) -> tensor<3x32xf32>
  return %0 : tensor<3x32xf32>
}
