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

// Every device generates all random numbers and keeps its part.
// CHECK-LABEL: func.func @random
func.func @random(%arg0: tensor<2xui64>) -> tensor<8xui32> {
  // CHECK-NEXT: [[state:%.+]], [[whole:%.+]] = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY
  // CHECK-SAME: [<@mesh, [{}]>, <@mesh, [{}]>]
  // CHECK-NEXT: [[part:%.+]] = sdy.reshard [[whole]] <@mesh, [{"x"}]>
  // CHECK-NEXT: return [[part]]
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
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
