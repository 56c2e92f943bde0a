// RUN: sdy-opt %s --sdy-gather-whole-tensors --sdy-split-mesh-changes | filecheck %s

sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @other = <["all"=8]>

// Nothing says how to divide an unknown custom call.
// CHECK-LABEL: func.func @no_rule
func.func @no_rule(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: [[in:%.+]] = sdy.reshard %arg0 <@mesh, [{}]>
  // CHECK-NEXT: [[made:%.+]] = stablehlo.custom_call @unknown([[in]]) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}
  // CHECK-NEXT: [[out:%.+]] = sdy.reshard [[made]] <@mesh, [{"y"}]>
  // CHECK-NEXT: return [[out]]
  %0 = stablehlo.custom_call @unknown(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A custom rule is a rule.
// CHECK-LABEL: func.func @custom_rule
func.func @custom_rule(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: stablehlo.custom_call @mine(%arg0) {sdy.sharding = {{.*}}{"x"}{{.*}}, sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>}
  %0 = stablehlo.custom_call @mine(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Every device generates all random numbers of an unknown algorithm and keeps its part.
// CHECK-LABEL: func.func @random
func.func @random(%arg0: tensor<2xui64>) -> tensor<8xui32> {
  // CHECK-NEXT: [[state:%.+]], [[whole:%.+]] = stablehlo.rng_bit_generator %arg0, algorithm = DEFAULT
  // CHECK-SAME: [<@mesh, [{}]>, <@mesh, [{}]>]
  // CHECK-NEXT: [[part:%.+]] = sdy.reshard [[whole]] <@mesh, [{"x"}]>
  // CHECK-NEXT: return [[part]]
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = DEFAULT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  return %1 : tensor<8xui32>
}

// An operand of another mesh is gathered.
// CHECK-LABEL: func.func @two_meshes
func.func @two_meshes(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: [[one:%.+]] = sdy.reshard %arg0 <@mesh, [{}]>
  // CHECK-NEXT: [[whole:%.+]] = stablehlo.reshape [[one]] {sdy.sharding = #sdy.sharding_per_value<[<@other, [{}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: stablehlo.negate [[whole]] {{.*}}<@other, [{"all"}]>
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@other, [{"all"}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @mesh_change
func.func @mesh_change(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: [[whole:%.+]] = sdy.reshard %arg0 <@mesh, [{}]>
  // CHECK-NEXT: [[seen:%.+]] = stablehlo.reshape [[whole]] {sdy.sharding = #sdy.sharding_per_value<[<@other, [{}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: sdy.reshard [[seen]] <@other, [{"all"}]>
  %0 = sdy.reshard %arg0 <@other, [{"all"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// An update is whole along dimensions of which it replaces a slice.
// CHECK-LABEL: func.func @partial_update
func.func @partial_update(%arg0: tensor<24x8xf32>, %arg1: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg2: tensor<i32>) -> tensor<24x8xf32> {
  // CHECK-NEXT: [[update:%.+]] = sdy.reshard %arg1 <@mesh, [{}, {"y"}]>
  // CHECK-NEXT: stablehlo.dynamic_update_slice %arg0, [[update]], %arg2, %arg2
  %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<24x8xf32>, tensor<12x8xf32>, tensor<i32>, tensor<i32>) -> tensor<24x8xf32>
  return %0 : tensor<24x8xf32>
}

// A window at an index may reach out of any part, even one as large as the dimension.
// CHECK-LABEL: func.func @indexed_window
func.func @indexed_window(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %arg1: tensor<1xi32>, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> tensor<8x8xf32> {
  // CHECK-DAG: [[input:%.+]] = sdy.reshard %arg0 <@mesh, [{"y"}, {}]>
  // CHECK-DAG: [[update:%.+]] = sdy.reshard %arg2 <@mesh, [{"y"}, {}]>
  // CHECK: "stablehlo.scatter"([[input]], %arg1, [[update]])
  // CHECK: sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>
  // CHECK-NEXT: sdy.reshard {{.*}} <@mesh, [{"y"}, {"x"}]>
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<8x8xf32>, tensor<1xi32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Devices without the one element cannot repeat it.
// CHECK-LABEL: func.func @repeated_element
func.func @repeated_element(%arg0: tensor<4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x8xf32> {
  // CHECK-NEXT: [[whole:%.+]] = sdy.reshard %arg0 <@mesh, [{"x"}, {}]>
  // CHECK-NEXT: stablehlo.broadcast_in_dim [[whole]]
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<4x1xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Each device would search its part only.
// CHECK-LABEL: func.func @approximate_search
func.func @approximate_search(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg2: tensor<f32>, %arg3: tensor<i32>) -> tensor<4x2xf32> {
  // CHECK-NEXT: stablehlo.custom_call @ApproxTopK
  // CHECK-SAME: need_replication={j, k}
  %0:2 = stablehlo.custom_call @ApproxTopK(%arg0, %arg1, %arg2, %arg3) {mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 2 : i64}} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0 : tensor<4x2xf32>
}

sdy.mesh @single = <[], device_ids=[1]>

// One device needs all of the tensor.
// CHECK-LABEL: func.func @to_one_device
func.func @to_one_device(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: [[whole:%.+]] = sdy.reshard %arg0 <@mesh, [{}]>
  // CHECK-NEXT: sdy.reshard [[whole]] <@single, []>
  %0 = sdy.reshard %arg0 <@single, []> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Two parts of the three elements in the body are not two of the four parts of six outside.
// CHECK-LABEL: func.func @uneven_border
// CHECK-NEXT: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
func.func @uneven_border(%arg0: tensor<6xf32>) -> tensor<6xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x"} (%arg1: tensor<3xf32>) {
    sdy.return %arg1 : tensor<3xf32>
  } : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// Four parts of the kernel's six output features are no parts of groups of three.
// CHECK-LABEL: func.func @groups
func.func @groups(%arg0: tensor<4x2xf32>, %arg1: tensor<1x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<4x6xf32> {
  // CHECK-NEXT: [[kernel:%.+]] = sdy.reshard %arg1 <@mesh, [{}, {}]>
  // CHECK-NEXT: stablehlo.convolution(%arg0, [[kernel]])
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<4x2xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// A composite becomes its decomposition, here with a composite inside, and is partitioned like that.
// CHECK-LABEL: func.func @composite
func.func @composite(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: [[sum:%.+]] = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
  // CHECK-NEXT: [[sine:%.+]] = stablehlo.sine [[sum]]
  // CHECK-NEXT: return [[sine]]
  %0 = stablehlo.composite "my.outer" %arg0 {decomposition = @outer} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-NOT: @outer
func.func private @outer(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
  %1 = stablehlo.composite "my.inner" %0 {decomposition = @inner} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-NOT: @inner
func.func private @inner(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.sine %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
