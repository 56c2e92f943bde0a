// RUN: sdy-opt %s --xla-sdy-export-ops | filecheck %s

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<1.000000e+00> : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {"x"}]> : tensor<8x8xf32>
  %3 = sdy.all_gather [{}, {"x"}] %2 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %4 = sdy.propagation_barrier %3 allowed_direction=NONE : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:     %cst = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<1.000000e+00> : tensor<8x8xf32>
// CHECK-NEXT:     %0 = stablehlo.custom_call @Sharding(%cst) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[0]", sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x"}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %2 = stablehlo.custom_call @Sharding(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     return %2 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
