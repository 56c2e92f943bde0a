// RUN: sdy-opt %s --sdy-pad-for-divisibility="pad-inputs-and-outputs=true mask-all-padding=true" | filecheck %s
// RUN: sdy-opt %s --sdy-pad-for-divisibility="pad-inputs-and-outputs=true exchange-misaligned-parts=true" | filecheck %s --check-prefix EXCHANGE

sdy.mesh @mesh = <["x"=2, "y"=4]>

// Arguments and results grow, and what lies between.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: %arg0: tensor<8x5xf32>
// CHECK-SAME: -> (tensor<8x5xf32>
func.func @elementwise(%arg0: tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK-NEXT: stablehlo.tanh %arg0 {{.*}} : tensor<8x5xf32>
  %0 = stablehlo.tanh %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}

// A sum must find zeros in the padding, a maximum negative infinity.
// CHECK-LABEL: func.func @reductions
func.func @reductions(%arg0: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: stablehlo.constant dense<0.000000e+00>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK-NEXT: [[neutral:%.+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  // CHECK: stablehlo.iota dim = 0
  // CHECK: [[limit:%.+]] = stablehlo.constant dense<7> : tensor<i32>
  // CHECK: [[inside:%.+]] = stablehlo.compare LT
  // CHECK: [[fill:%.+]] = stablehlo.broadcast_in_dim [[neutral]], dims = []
  // CHECK: [[data:%.+]] = stablehlo.select [[inside]], %arg0, [[fill]]
  // CHECK: stablehlo.reduce([[data]] init: %{{.*}}) applies stablehlo.add
  %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"y"}>]>} : (tensor<7xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum
  %1 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced=max{"y"}>]>} : (tensor<7xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// The values of a constant stay where they are.
// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // CHECK-NEXT: stablehlo.constant {{.*}} dense<[1, 2, 3, 0]> : tensor<4xi32>
  %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<[1, 2, 3]> : tensor<3xi32>
  return %0 : tensor<3xi32>
}

// Parts of 3 elements and parts of 2 do not line up: the dimension is gathered, and sliced again. With the option,
// parts get elements of their neighbours to have 4.
// CHECK-LABEL: func.func @misaligned
// EXCHANGE-LABEL: func.func @misaligned
func.func @misaligned(%arg0: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>})
    -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) {
  // CHECK-NEXT: [[all:%.+]] = sdy.all_gather [{"y"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<12xf32>
  // CHECK-NEXT: [[true:%.+]] = stablehlo.slice [[all]] [0:10]
  // CHECK: [[more:%.+]] = stablehlo.pad [[true]], {{.*}} -> tensor<16xf32>
  // CHECK-NEXT: sdy.all_slice [{"y", "x"}] [[more]] out_sharding=<@mesh, [{"y", "x"}]> : tensor<16xf32>
  // EXCHANGE-NOT: all_gather
  // EXCHANGE: [[parts:%.+]] = sdy.manual_computation({{.*}}) in_shardings=[<@mesh, [{"y"}]>, {{.*}} manual_axes={"y"} ({{.*}}tensor<3xf32>
  // EXCHANGE: collective_permute{{.*}} : (tensor<2xf32>) -> tensor<2xf32>
  // EXCHANGE: } : (tensor<12xf32>, tensor<f32>) -> tensor<16xf32>
  // EXCHANGE-NEXT: sdy.all_slice [{"x"}] [[parts]] out_sharding=<@mesh, [{"y", "x"}]> : tensor<16xf32>
  %0 = sdy.all_slice [{"x"}] %arg0 out_sharding=<@mesh, [{"y", "x"}]> : tensor<10xf32>
  return %0 : tensor<10xf32>
}

// Start indices are clamped to the tensor without its padding.
// CHECK-LABEL: func.func @gather
func.func @gather(%arg0: tensor<7x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<3x1xi32>) -> tensor<3x4xf32> {
  // CHECK: [[last:%.+]] = stablehlo.constant dense<6> : tensor<1xi32>
  // CHECK: [[high:%.+]] = stablehlo.broadcast_in_dim [[last]], dims = [1]
  // CHECK: [[at:%.+]] = stablehlo.clamp %{{.*}}, %arg1, [[high]]
  // CHECK: "stablehlo.gather"(%arg0, [[at]])
  // CHECK-SAME: (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<7x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// So are those of an update.
// CHECK-LABEL: func.func @update
func.func @update(%arg0: tensor<7x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<2x4xf32>, %arg2: tensor<i32>) -> (tensor<7x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: [[last:%.+]] = stablehlo.constant dense<5> : tensor<i32>
  // CHECK: [[high:%.+]] = stablehlo.broadcast_in_dim [[last]], dims = []
  // CHECK: [[at:%.+]] = stablehlo.clamp %{{.*}}, %arg2, [[high]]
  // CHECK: stablehlo.dynamic_update_slice %arg0, %arg1, [[at]], %arg2
  %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<7x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<7x4xf32>
  return %0 : tensor<7x4xf32>
}
