// RUN: sdy-opt %s --sdy-optimize-collectives | filecheck %s

// A permute within a dimension before all-to-alls out of it is replaced by reshapes around the all-to-alls.

sdy.mesh @mesh = <["a"=2, "b"=3, "c"=2]>
sdy.mesh @sub = <["w"=8, "v"=2]>
sdy.mesh @four = <["a"=2, "b"=2, "c"=2, "d"=2]>
sdy.mesh @turned = <["a"=2, "b"=3, "c"=2], device_ids=[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>

// CHECK-LABEL: func.func @both_axes_leave
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {"b"}, {}, {}, {}]>]>} : (tensor<12x6x6xf32>) -> tensor<2x3x2x6x6xf32>
// CHECK-NEXT: %1 = sdy.all_to_all [{"a"}: 0->4] %0 out_sharding=<@mesh, [{}, {"b"}, {}, {}, {"a"}]> : tensor<2x3x2x6x6xf32>
// CHECK-NEXT: %2 = sdy.all_to_all [{"b"}: 1->3] %1 out_sharding=<@mesh, [{}, {}, {}, {"b"}, {"a"}]> : tensor<2x3x2x6x6xf32>
// CHECK-NEXT: %3 = stablehlo.reshape %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"b"}, {"a"}]>]>} : (tensor<2x3x2x6x6xf32>) -> tensor<12x6x6xf32>
// CHECK-NEXT: return %3
func.func @both_axes_leave(%arg0: tensor<12x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}, {}]>}) -> (tensor<12x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}, {"a"}]>}) {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b", "a"}, {}, {}]> : tensor<12x6x6xf32>
  %1 = sdy.all_to_all [{"a"}: 0->2] %0 out_sharding=<@mesh, [{"b"}, {}, {"a"}]> : tensor<12x6x6xf32>
  %2 = sdy.all_to_all [{"b"}: 0->1] %1 out_sharding=<@mesh, [{}, {"b"}, {"a"}]> : tensor<12x6x6xf32>
  return %2 : tensor<12x6x6xf32>
}

// Each axis fills its own dimension, and no part of it is left; the axis that stays moves to the front.
// CHECK-LABEL: func.func @one_axis_stays
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {"a"}, {"c"}]>]>} : (tensor<12x4xf32>) -> tensor<12x2x2xf32>
// CHECK-NEXT: %1 = sdy.all_to_all [{"a"}: 1->0] %0 out_sharding=<@mesh, [{"b", "a"}, {}, {"c"}]> : tensor<12x2x2xf32>
// CHECK-NEXT: %2 = sdy.all_to_all [{"c"}: 2->1] %1 out_sharding=<@mesh, [{"b", "a"}, {"c"}, {}]> : tensor<12x2x2xf32>
// CHECK-NEXT: %3 = stablehlo.reshape %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b", "a"}, {"c"}]>]>} : (tensor<12x2x2xf32>) -> tensor<12x4xf32>
// CHECK-NEXT: return %3
func.func @one_axis_stays(%arg0: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a", "c"}]>}) -> tensor<12x4xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b"}, {"c", "a"}]> : tensor<12x4xf32>
  %1 = sdy.all_to_all [{"a"}: 1->0] %0 out_sharding=<@mesh, [{"b", "a"}, {"c"}]> : tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

// Sub-axes of the same axis; the axis is split as the permute splits it.
// CHECK-LABEL: func.func @sub_axes
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@sub, [{"w":(1)2}, {"w":(2)4}, {}, {}, {}]>]>} : (tensor<16x8x8xf32>) -> tensor<2x4x2x8x8xf32>
// CHECK-NEXT: %1 = sdy.all_to_all [{"w":(1)2}: 0->3] %0
// CHECK-NEXT: %2 = sdy.all_to_all [{"w":(2)4}: 1->4] %1
func.func @sub_axes(%arg0: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@sub, [{"w"}, {}, {}]>}) -> tensor<16x8x8xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@sub, [{"w":(2)4, "w":(1)2}, {}, {}]> : tensor<16x8x8xf32>
  %1 = sdy.all_to_all [{"w":(1)2}: 0->1] %0 out_sharding=<@sub, [{"w":(2)4}, {"w":(1)2}, {}]> : tensor<16x8x8xf32>
  %2 = sdy.all_to_all [{"w":(2)4}: 0->2] %1 out_sharding=<@sub, [{}, {"w":(1)2}, {"w":(2)4}]> : tensor<16x8x8xf32>
  return %2 : tensor<16x8x8xf32>
}

// The chain ends before an all-to-all out of another dimension, and at a value with another use.
// CHECK-LABEL: func.func @chains_end
// CHECK-NOT: sdy.collective_permute
// CHECK: %3 = stablehlo.reshape %2 {{.*}} -> tensor<12x6x4xf32>
// CHECK-NEXT: %4 = sdy.all_to_all [{"a"}: 2->0] %3
// CHECK-NEXT: return %3, %4
func.func @chains_end(%arg0: tensor<12x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}, {"c"}]>}) -> (tensor<12x6x4xf32>, tensor<12x6x4xf32>) {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b", "a"}, {}, {"c"}]> : tensor<12x6x4xf32>
  %1 = sdy.all_to_all [{"a"}: 0->2] %0 out_sharding=<@mesh, [{"b"}, {}, {"c", "a"}]> : tensor<12x6x4xf32>
  %2 = sdy.all_to_all [{"b"}: 0->1] %1 out_sharding=<@mesh, [{}, {"b"}, {"c", "a"}]> : tensor<12x6x4xf32>
  %3 = sdy.all_to_all [{"a"}: 2->0] %2 out_sharding=<@mesh, [{"a"}, {"b"}, {"c"}]> : tensor<12x6x4xf32>
  return %2, %3 : tensor<12x6x4xf32>, tensor<12x6x4xf32>
}

// What follows keeps its permute. The first: "b" of 3 devices would have to shard a dimension of 2 elements.
// CHECK-LABEL: func.func @uneven_place
// CHECK-NEXT: sdy.collective_permute
func.func @uneven_place(%arg0: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>}) -> tensor<12x6xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b", "a"}, {}]> : tensor<12x6xf32>
  %1 = sdy.all_to_all [{"a"}: 0->1] %0 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<12x6xf32>
  return %1 : tensor<12x6xf32>
}

// CHECK-LABEL: func.func @uneven_parts
// CHECK-NEXT: sdy.collective_permute
func.func @uneven_parts(%arg0: tensor<10x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}, {}]>}) -> tensor<10x6x6xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b", "a"}, {}, {}]> : tensor<10x6x6xf32>
  %1 = sdy.all_to_all [{"a"}: 0->2] %0 out_sharding=<@mesh, [{"b"}, {}, {"a"}]> : tensor<10x6x6xf32>
  %2 = sdy.all_to_all [{"b"}: 0->1] %1 out_sharding=<@mesh, [{}, {"b"}, {"a"}]> : tensor<10x6x6xf32>
  return %2 : tensor<10x6x6xf32>
}

// CHECK-LABEL: func.func @another_order_of_devices
// CHECK-NEXT: sdy.collective_permute
func.func @another_order_of_devices(%arg0: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "c"}, {}]>}) -> tensor<12x4xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@turned, [{"c", "a"}, {}]> : tensor<12x4xf32>
  %1 = sdy.all_to_all [{"a"}: 0->1] %0 out_sharding=<@turned, [{"c"}, {"a"}]> : tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

// CHECK-LABEL: func.func @another_axis
// CHECK-NEXT: sdy.collective_permute
func.func @another_axis(%arg0: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a"}, {}]>}) -> tensor<12x4xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b", "c"}, {}]> : tensor<12x4xf32>
  %1 = sdy.all_to_all [{"c"}: 0->1] %0 out_sharding=<@mesh, [{"b"}, {"c"}]> : tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

// Only an axis in its place leaves.
// CHECK-LABEL: func.func @reordered_axes_stay
// CHECK-NEXT: sdy.collective_permute
func.func @reordered_axes_stay(%arg0: tensor<24x4xf32> {sdy.sharding = #sdy.sharding<@sub, [{"w":(1)2, "w":(4)2, "v"}, {}]>}) -> tensor<24x4xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@sub, [{"w":(4)2, "w":(1)2, "v"}, {}]> : tensor<24x4xf32>
  %1 = sdy.all_to_all [{"v"}: 0->1] %0 out_sharding=<@sub, [{"w":(4)2, "w":(1)2}, {"v"}]> : tensor<24x4xf32>
  return %1 : tensor<24x4xf32>
}

// The permuted tensor is used itself.
// CHECK-LABEL: func.func @two_uses
// CHECK-NEXT: sdy.collective_permute
func.func @two_uses(%arg0: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "c"}, {}]>}) -> (tensor<12x4xf32>, tensor<12x4xf32>) {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"c", "a"}, {}]> : tensor<12x4xf32>
  %1 = sdy.all_to_all [{"a"}: 0->1] %0 out_sharding=<@mesh, [{"c"}, {"a"}]> : tensor<12x4xf32>
  return %0, %1 : tensor<12x4xf32>, tensor<12x4xf32>
}

// "a" and "b", which stay, would have to change places.
// CHECK-LABEL: func.func @cycle
// CHECK-NEXT: sdy.collective_permute
func.func @cycle(%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@four, [{"a", "b", "c", "d"}, {}]>}) -> tensor<16x4xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@four, [{"b", "a", "d", "c"}, {}]> : tensor<16x4xf32>
  %1 = sdy.all_to_all [{"c"}: 0->1] %0 out_sharding=<@four, [{"b", "a", "d"}, {"c"}]> : tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}

// Axes that one all-to-all moves as one keep the order that the permute gives them.
// CHECK-LABEL: func.func @axes_to_one_dimension
// CHECK-NEXT: sdy.collective_permute
func.func @axes_to_one_dimension(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@sub, [{"w", "v"}, {}]>}) -> tensor<16x16xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@sub, [{"v", "w"}, {}]> : tensor<16x16xf32>
  %1 = sdy.all_to_all [{"v", "w"}: 0->1] %0 out_sharding=<@sub, [{}, {"v", "w"}]> : tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}
