// RUN: sdy-opt %s --sdy-resolve-reduction-factors | filecheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @minimum
func.func @minimum(%arg0: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i32>) -> tensor<i32> {
  // CHECK: stablehlo.reduce(%arg0 init: %arg1)
  // CHECK-NEXT: sdy.all_reduce min {"x"}
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.minimum across dimensions = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<i32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, []> : tensor<i32>
  return %1 : tensor<i32>
}

// Booleans: whether all are true is their minimum.
// CHECK-LABEL: func.func @all
func.func @all(%arg0: tensor<8xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i1>) -> tensor<i1> {
  // CHECK: sdy.all_reduce min {"x"}
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.and across dimensions = [0] : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, []> : tensor<i1>
  return %1 : tensor<i1>
}

// The initial value counts once, not once a device.
// CHECK-LABEL: func.func @sum
func.func @sum(%arg0: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i32>) -> tensor<4xi32> {
  // CHECK-NEXT: [[zero:%.+]] = stablehlo.constant dense<0> : tensor<i32>
  // CHECK-NEXT: [[part:%.+]] = stablehlo.reduce(%arg0 init: [[zero]])
  // CHECK-NEXT: [[sum:%.+]] = sdy.all_reduce {"x"} [[part]]
  // CHECK-NEXT: [[start:%.+]] = stablehlo.broadcast_in_dim %arg1, dims = []
  // CHECK-NEXT: [[all:%.+]] = stablehlo.add [[sum]], [[start]]
  // CHECK-NEXT: return [[all]]
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// sdy has no all-reduce for products, StableHLO has. An uneven part is completed by ones.
// CHECK-LABEL: func.func @product
func.func @product(%arg0: tensor<7x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i32>) -> tensor<4xi32> {
  // CHECK-NEXT: [[one:%.+]] = stablehlo.constant dense<1> : tensor<i32>
  // CHECK-NEXT: [[even:%.+]] = stablehlo.pad %arg0, [[one]], low = [0, 0], high = [1, 0]
  // CHECK-NEXT: [[parts:%.+]] = sdy.manual_computation([[even]]) {{.*}} manual_axes={"x"} (%arg2: tensor<4x4xi32>) {
  // CHECK: [[part:%.+]] = stablehlo.reduce(%arg2 init: %{{.*}}) applies stablehlo.multiply across dimensions = [0]
  // CHECK: [[made:%.+]] = "stablehlo.all_reduce"([[part]])
  // CHECK: stablehlo.multiply
  // CHECK: sdy.return [[made]]
  // CHECK: [[start:%.+]] = stablehlo.broadcast_in_dim %arg1
  // CHECK-NEXT: [[all:%.+]] = stablehlo.multiply [[parts]], [[start]]
  // CHECK-NEXT: return [[all]]
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.multiply across dimensions = [0] : (tensor<7x4xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// The identity of this combiner is unknown: parts are reduced, gathered, and reduced again. An uneven part is
// completed by initial values.
// CHECK-LABEL: func.func @any_combiner
func.func @any_combiner(%arg0: tensor<7x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i32>) -> tensor<4xi32> {
  // CHECK-NEXT: [[even:%.+]] = stablehlo.pad %arg0, %arg1, low = [0, 0], high = [1, 0]
  // CHECK-NEXT: [[parts:%.+]] = stablehlo.reshape [[even]] {{.*}}[{"x"}, {}, {}]{{.*}} : (tensor<8x4xi32>) -> tensor<2x4x4xi32>
  // CHECK-NEXT: [[part:%.+]] = stablehlo.reduce([[parts]] init: %arg1) across dimensions = [1]
  // CHECK: [[all:%.+]] = sdy.reshard [[part]] <@mesh, [{}, {}]> : tensor<2x4xi32>
  // CHECK-NEXT: [[made:%.+]] = stablehlo.reduce([[all]] init: %arg1) across dimensions = [0]
  // CHECK: return [[made]]
  %0 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] : (tensor<7x4xi32>, tensor<i32>) -> tensor<4xi32>
    reducer(%a: tensor<i32>, %b: tensor<i32>) {
      %2 = stablehlo.maximum %a, %b : tensor<i32>
      %3 = stablehlo.maximum %2, %a : tensor<i32>
      stablehlo.return %3 : tensor<i32>
    }
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<4xi32>
  return %1 : tensor<4xi32>
}

// Each device has the whole sum: one of them contributes it.
// CHECK-LABEL: func.func @no_terms
func.func @no_terms(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: [[sum:%.+]] = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}
  // CHECK-NEXT: [[terms:%.+]] = sdy.replicated_to_unreduced {"x"} [[sum]] out_sharding=<@mesh, [{}], unreduced={"x"}>
  // CHECK-NEXT: sdy.all_reduce {"x"} [[terms]]
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>} : tensor<8xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A sine of terms is no term.
// CHECK-LABEL: func.func @not_linear
func.func @not_linear(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) -> tensor<8xf32> {
  // CHECK-NEXT: [[negated:%.+]] = stablehlo.negate %arg0
  // CHECK-NEXT: [[reduced:%.+]] = sdy.all_reduce {"x"} [[negated]] out_sharding=<@mesh, [{}]>
  // CHECK-NEXT: [[sine:%.+]] = stablehlo.sine [[reduced]]
  // CHECK-NEXT: sdy.replicated_to_unreduced {"x"} [[sine]]
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>} : tensor<8xf32>
  %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}
