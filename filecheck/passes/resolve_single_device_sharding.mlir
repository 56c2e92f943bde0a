// RUN: sdy-opt %s --sdy-resolve-single-device-sharding="partition-count=4" | filecheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @third = <[], device_ids=[2]>

// An op on device 2 becomes a conditional; the sum over all devices is its result. Reshards to and from the
// device are not needed.
// CHECK-LABEL: func.func @one_op
func.func @one_op(%arg0: tensor<6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})
    -> (tensor<6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  // CHECK-NEXT: [[part:%.+]] = stablehlo.partition_id : tensor<ui32>
  // CHECK-NEXT: [[two:%.+]] = stablehlo.constant dense<2> : tensor<ui32>
  // CHECK-NEXT: [[there:%.+]] = stablehlo.compare EQ, [[part]], [[two]]
  // CHECK-NEXT: [[if:%.+]] = "stablehlo.if"([[there]]) ({
  // CHECK-NEXT:   [[made:%.+]] = stablehlo.negate %arg0 : tensor<6xi32>
  // CHECK-NEXT:   stablehlo.return [[made]] : tensor<6xi32>
  // CHECK-NEXT: }, {
  // CHECK-NEXT:   [[zero:%.+]] = stablehlo.constant dense<0> : tensor<6xi32>
  // CHECK-NEXT:   stablehlo.return [[zero]] : tensor<6xi32>
  // CHECK-NEXT: })
  // CHECK-NEXT: [[sum:%.+]] = sdy.all_reduce {"x", "y"} [[if]] out_sharding=<@mesh, [{}]> : tensor<6xi32>
  // CHECK-NEXT: return [[sum]]
  %0 = sdy.reshard %arg0 <@third, []> : tensor<6xi32>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@third, []>]>} : tensor<6xi32>
  %2 = sdy.reshard %1 <@mesh, [{}]> : tensor<6xi32>
  return %2 : tensor<6xi32>
}

// The effects of an op without results happen on its device only.
// CHECK-LABEL: func.func @effect
func.func @effect(%arg0: tensor<6xi32>) {
  // CHECK: [[there:%.+]] = stablehlo.compare EQ
  // CHECK-NEXT: "stablehlo.if"([[there]]) ({
  // CHECK-NEXT:   stablehlo.custom_call @report(%arg0)
  // CHECK-NEXT:   stablehlo.return
  // CHECK-NEXT: }, {
  // CHECK-NEXT:   stablehlo.return
  %0 = sdy.reshard %arg0 <@third, []> : tensor<6xi32>
  stablehlo.custom_call @report(%0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@third, []>]>} : (tensor<6xi32>) -> ()
  return
}
