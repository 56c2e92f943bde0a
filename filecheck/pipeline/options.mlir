// RUN: sdy-opt %s --sdy-propagation-pipeline | filecheck %s --check-prefixes=CHECK,PLAIN
// RUN: sdy-opt %s --sdy-propagation-pipeline='keep-sharding-rules=true inline-meshes=true' | filecheck %s --check-prefixes=CHECK,KEPT
// RUN: sdy-opt %s --sdy-propagation-pipeline='conservative-propagation=true avoid-export-for-partitioning=true' | filecheck %s --check-prefixes=CHECK,CAREFUL
// RUN: sdy-opt %s --sdy-propagation-pipeline='update-non-divisible-input-output-shardings=false' | filecheck %s --check-prefix=UNEVEN

sdy.mesh @mesh = <["x"=4, "y"=2]>

// UNEVEN: func.func @uneven(%arg0: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
func.func @uneven(%arg0: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<3xf32> {
  return %arg0 : tensor<3xf32>
}

// The dimension of 2 takes half of an axis of 4, which conservative propagation does not do.
// CHECK: func.func @main
func.func @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>) {
  // PLAIN:        %[[SHAPED:.*]] = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}, {"x":(2)2}]>]>}
  // KEPT:         %[[SHAPED:.*]] = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=4, "y"=2]>, [{"x":(1)2}, {"x":(2)2}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([ij])->([i, j]) {i=2, j=8}>}
  // CAREFUL:      %[[SHAPED:.*]] = stablehlo.reshape %arg0 : (tensor<16xf32>) -> tensor<2x8xf32>
  %0 = stablehlo.reshape %arg0 : (tensor<16xf32>) -> tensor<2x8xf32>
  // PLAIN-NEXT:   %[[GIVEN:.*]] = sdy.reshard %arg1 <@mesh, [{"y"}]>
  // KEPT-NEXT:    %[[GIVEN:.*]] = sdy.reshard %arg1 <mesh<["x"=4, "y"=2]>, [{"y"}]>
  // CAREFUL-NEXT: %[[GIVEN:.*]] = sdy.sharding_constraint %arg1 <@mesh, [{"y"}]>
  %1 = sdy.sharding_constraint %arg1 <@mesh, [{"y"}]> : tensor<8xf32>
  return %0, %1 : tensor<2x8xf32>, tensor<8xf32>
}
// CHECK: func.func @uneven(%arg0: tensor<3xf32> {sdy.sharding = #sdy.sharding<{{.*}} [{}]>})
