// RUN: sdy-opt %s --xla-sdy-stablehlo-import-pipeline | filecheck %s

// XLA since JAX 0.11: the shardings by mesh and axes around the body say what is manual. A map in a map, one
// without operands, a result on one device. The mesh that the module has is used.

module {
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func private @xla.sdy.manual_computation_body.3(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.negate %arg0 : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
func.func private @xla.sdy.manual_computation_body_0.4(%arg0: tensor<2x8xf32>, %arg1: tensor<f32>) -> tensor<2x4xf32> {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{?}, {'y', ?}]}"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%0) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{?}, {?}], manual={'y'}}"} : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %2 = call @xla.sdy.manual_computation_body.3(%1) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{?}, {?}], manual={'y'}}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%2) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{?}, {?}]}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
func.func private @xla.sdy.manual_computation_body_1.5() -> tensor<2x8xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{mesh['x'=4,'y'=2], [{'x'}, {}]}"}, %arg1: tensor<f32> {mhlo.sharding = "{mesh['x'=4,'y'=2], []}"}) -> (tensor<2x4xf32>, tensor<8x8xf32>, tensor<f32> {mhlo.sharding = "{single_device[device_id=0]}"}) {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{'x', ?}, {?}]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%0, %arg1) {mhlo.sharding = "{{mesh['x'=4,'y'=2], [{?}, {?}], manual={'x'}}, {mesh['x'=4,'y'=2], [], manual={'x'}}}"} : (tensor<8x8xf32>, tensor<f32>) -> tuple<tensor<2x8xf32>, tensor<f32>>
  %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<2x8xf32>, tensor<f32>>) -> tensor<2x8xf32>
  %3 = stablehlo.get_tuple_element %1[1] : (tuple<tensor<2x8xf32>, tensor<f32>>) -> tensor<f32>
  %4 = call @xla.sdy.manual_computation_body_0.4(%2, %3) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{?}, {?}], manual={'x'}}"} : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%4) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{?}, {?}]}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = call @xla.sdy.manual_computation_body_1.5() {mhlo.sharding = "{mesh['x'=4,'y'=2], manual}"} : () -> tensor<2x8xf32>
  %7 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%6) {mhlo.sharding = "{mesh['x'=4,'y'=2], [{'x'}, {}]}"} : (tensor<2x8xf32>) -> tensor<8x8xf32>
  return %5, %7, %arg1 : tensor<2x4xf32>, tensor<8x8xf32>, tensor<f32>
}
}

// CHECK-NOT:  @mesh_0
// CHECK:      func.func @main({{.*}}) -> (tensor<2x4xf32>, tensor<8x8xf32>, tensor<f32>) {
// CHECK-NEXT:   %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x", ?}, {?}]>, <@mesh, [], replicated={"x"}>] out_shardings=[<@mesh, [{?}, {?}], replicated={"x"}>] manual_axes={"x"} (%arg2: tensor<2x8xf32>, %arg3: tensor<f32>) {
// CHECK-NEXT:     %2 = sdy.manual_computation(%arg2) in_shardings=[<@mesh, [{?}, {"y", ?}]>] out_shardings=[<@mesh, [{?}, {?}], replicated={"y"}>] manual_axes={"y"} (%arg4: tensor<2x4xf32>) {
// CHECK:        } : (tensor<2x8xf32>) -> tensor<2x4xf32>
// CHECK:      %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"x"}, {}], replicated={"y"}>] manual_axes={"x", "y"} () {
