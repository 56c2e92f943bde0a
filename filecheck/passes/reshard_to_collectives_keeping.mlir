// RUN: sdy-opt %s --sdy-reshard-to-collectives=keep-redundant-reshards=true | filecheck %s

// Only reshards to what the tensor has already stay.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = sdy.reshard %arg0 <@mesh, [{"x", ?}]> : tensor<16xf32>
  %1 = sdy.reshard %arg1 <@mesh, [{}]> : tensor<16xf32>
  %2 = sdy.reshard %0 <@mesh, [{"x", "y"}]> : tensor<16xf32>
  return %0, %1, %2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
// CHECK-NEXT:     %0 = sdy.reshard %arg0 <@mesh, [{"x", ?}]> : tensor<16xf32>
// CHECK-NEXT:     %1 = sdy.reshard %arg1 <@mesh, [{}]> : tensor<16xf32>
// CHECK-NEXT:     %2 = sdy.all_slice [{"y"}] %0 out_sharding=<@mesh, [{"x", "y"}]> : tensor<16xf32>
// CHECK-NEXT:     return %0, %1, %2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
