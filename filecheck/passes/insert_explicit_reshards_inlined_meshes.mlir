// RUN: sdy-opt %s --sdy-insert-explicit-reshards=enable-full-version=true | filecheck %s

// Inlined meshes serve as named ones do.

func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"y"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2, "y"=2]>, [{}, {"x"}]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"y"}, {}]>}) -> tensor<8x8xf32> {
// CHECK-NEXT:     %0 = sdy.reshard %arg0 <mesh<["x"=2, "y"=2]>, [{}, {"y"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %1 = sdy.reshard %arg1 <mesh<["x"=2, "y"=2]>, [{"y"}, {"x"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2, "y"=2]>, [{}, {"x"}]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %3 = sdy.all_reduce {"y"} %2 out_sharding=<mesh<["x"=2, "y"=2]>, [{}, {"x"}]> : tensor<8x8xf32>
// CHECK-NEXT:     %4 = sdy.reshard %3 <mesh<["x"=2, "y"=2]>, [{}, {}]> : tensor<8x8xf32>
// CHECK-NEXT:     return %4 : tensor<8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
