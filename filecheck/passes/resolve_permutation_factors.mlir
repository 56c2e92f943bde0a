// RUN: sdy-opt %s --sdy-resolve-permutation-factors | filecheck %s
// RUN: sdy-opt %s --sdy-resolve-permutation-factors=enable-halo-exchange=false | filecheck %s --check-prefix WHOLE

sdy.mesh @mesh = <["x"=4, "y"=2]>

// Element j of the result is element j + 1: the first element of the right neighbour is needed.
// CHECK-LABEL: @shift
// WHOLE-LABEL: @shift
func.func @shift(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<7x6xf32> {
  // CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00>
  // CHECK: sdy.manual_computation(%arg0, %[[ZERO]]) {{.*}} manual_axes={"x", "y"} (%arg1: tensor<2x3xf32>, %arg2: tensor<f32>)
  // CHECK: %[[NEXT:.*]] = "stablehlo.collective_permute"(%arg1) {{.*}}source_target_pairs = dense<{{\[\[}}2, 0], [3, 1], [4, 2], [5, 3], [6, 4], [7, 5]]>
  // CHECK: %[[SENT:.*]] = stablehlo.select %{{.*}}, %[[NEXT]], %{{.*}}
  // CHECK: %[[BOTH:.*]] = stablehlo.concatenate %arg1, %[[SENT]], dim = 0 {{.*}} -> tensor<4x3xf32>
  // CHECK: %[[PADDED:.*]] = stablehlo.pad %[[BOTH]], %arg2, low = [2, 0], high = [2, 0], interior = [0, 0]
  // CHECK: %[[PART:.*]] = stablehlo.dynamic_slice %[[PADDED]], {{.*}} sizes = [2, 3]
  // CHECK: sdy.return %[[PART]]
  // CHECK: stablehlo.slice {{.*}} [0:7, 0:6]
  // WHOLE: sdy.reshard %arg0 <@mesh, [{}, {"y"}]>
  // WHOLE: stablehlo.slice
  // WHOLE: sdy.reshard {{.*}} <@mesh, [{"x"}, {"y"}]>
  %0 = stablehlo.slice %arg0 [1:8, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<8x6xf32>) -> tensor<7x6xf32>
  return %0 : tensor<7x6xf32>
}

// Every device needs all parts, over two hops.
// CHECK-LABEL: @all_parts
func.func @all_parts(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> {
  // CHECK: sdy.reshard %arg0 <@mesh, [{}]>
  %0 = stablehlo.slice %arg0 [6:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// The parts of the result are those of the operand.
// CHECK-LABEL: @local
func.func @local(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32>) -> tensor<7xf32> {
  // CHECK-NEXT: stablehlo.slice %arg0 [0:7]
  // CHECK-NEXT: return
  // WHOLE-LABEL: @local
  // WHOLE-NEXT: stablehlo.slice %arg0 [0:7]
  %0 = stablehlo.slice %arg0 [0:7] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// CHECK-LABEL: @reversed
func.func @reversed(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK: stablehlo.reverse %arg0, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh_reversed, [{"x"}]>]>}
  // CHECK: sdy.reshard {{.*}} <@mesh, [{"x"}]>
  %0 = stablehlo.reverse %arg0, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @uneven_split
func.func @uneven_split(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2x3xf32> {
  // CHECK: sdy.manual_computation({{.*}}) {{.*}} out_shardings=[<@mesh, [{"x":(1)2}, {"x":(2)2}]>]
  // CHECK: stablehlo.constant dense<[4, 4, 3, 3]>
  // CHECK: stablehlo.reshape {{.*}} -> tensor<1x2xf32>
  // CHECK: stablehlo.slice {{.*}} [0:2, 0:3]
  %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}, {"x":(2)2}]>]>} : (tensor<6xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
