// RUN: sdy-opt %s --xla-sdy-import-shardings='mesh-axes=x=2,y=4 allow-propagation-to-args=true,false' | filecheck %s

// Named axes; an axis is cut where a tile ends within it.

func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[8]}"}, %arg1: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) {
  return
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y":(1)2, ?}, {"y":(2)2, ?}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }
