// RUN: sdy-opt %s --sdy-reshard-to-collectives | filecheck %s

// Each kind of collective, alone and in sequence; other orders of devices; what stays.

sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
sdy.mesh @turned = <["x"=2, "y"=2, "z"=4], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
sdy.mesh @other = <["x"=8]>
sdy.mesh @device = <[], device_ids=[3]>

func.func @gather(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}) -> tensor<16x8xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {"z":(1)2}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

func.func @gather_all_but_unreduced(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}) -> tensor<16xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{?}], unreduced={"y"}> : tensor<16xf32>
  %1 = sdy.reshard %0 <@mesh, [{"z"}], unreduced={"y"}> : tensor<16xf32>
  return %1 : tensor<16xf32>
}

func.func @slice(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {"z", "y"}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

func.func @exchange(%arg0: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "z"}, {}, {"y"}]>}) -> tensor<16x8x8xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{}, {"x"}, {"y", "z"}]> : tensor<16x8x8xf32>
  return %0 : tensor<16x8x8xf32>
}

func.func @permute(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x"}]>}) -> tensor<16x8xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{"x", "y"}, {"z":(2)2}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

func.func @all_four(%arg0: tensor<16x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}]>}) -> tensor<16x16x16xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{}, {"x"}, {"z"}]> : tensor<16x16x16xf32>
  return %0 : tensor<16x16x16xf32>
}

func.func @other_order_of_devices(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = sdy.reshard %arg0 <@turned, [{"x"}]> : tensor<16xf32>
  %1 = sdy.reshard %arg0 <@turned, [{}]> : tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

func.func @seen_through_barriers(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  %0 = sdy.propagation_barrier %arg0 allowed_direction=NONE : tensor<16xf32>
  %1 = sdy.reshard %0 <@mesh, [{"x", "y"}]> : tensor<16xf32>
  return %1 : tensor<16xf32>
}

func.func @redundant(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = sdy.reshard %arg0 <@mesh, [{"x", ?}]> : tensor<16xf32>
  %1 = sdy.reshard %arg1 <@other, [{}]> : tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

func.func @stays(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = sdy.reshard %arg0 <@other, [{"x"}]> : tensor<16xf32>
  %1 = sdy.reshard %arg0 <@device, []> : tensor<16xf32>
  %2 = sdy.reshard %1 <@mesh, [{"x"}]> : tensor<16xf32>
  return %0, %1, %2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
// CHECK-NEXT:   sdy.mesh @turned = <["x"=2, "y"=2, "z"=4], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
// CHECK-NEXT:   sdy.mesh @other = <["x"=8]>
// CHECK-NEXT:   sdy.mesh @device = <[], device_ids=[3]>
// CHECK-NEXT:   func.func @gather(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}) -> tensor<16x8xf32> {
// CHECK-NEXT:     %0 = sdy.all_gather [{"y"}, {"z":(2)2}] %arg0 out_sharding=<@mesh, [{"x"}, {"z":(1)2}]> : tensor<16x8xf32>
// CHECK-NEXT:     return %0 : tensor<16x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @gather_all_but_unreduced(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}) -> tensor<16xf32> {
// CHECK-NEXT:     %0 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}], unreduced={"y"}> : tensor<16xf32>
// CHECK-NEXT:     %1 = sdy.all_slice [{"z"}] %0 out_sharding=<@mesh, [{"z"}], unreduced={"y"}> : tensor<16xf32>
// CHECK-NEXT:     return %1 : tensor<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @slice(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT:     %0 = sdy.all_slice [{"x"}, {"z", "y"}] %arg0 out_sharding=<@mesh, [{"x"}, {"z", "y"}]> : tensor<16x8xf32>
// CHECK-NEXT:     return %0 : tensor<16x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @exchange(%arg0: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "z"}, {}, {"y"}]>}) -> tensor<16x8x8xf32> {
// CHECK-NEXT:     %0 = sdy.all_to_all [{"z"}: 0->2] %arg0 out_sharding=<@mesh, [{"x"}, {}, {"y", "z"}]> : tensor<16x8x8xf32>
// CHECK-NEXT:     %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x"}, {"y", "z"}]> : tensor<16x8x8xf32>
// CHECK-NEXT:     return %1 : tensor<16x8x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @permute(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x"}]>}) -> tensor<16x8xf32> {
// CHECK-NEXT:     %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"x", "y"}, {"z":(2)2}]> : tensor<16x8xf32>
// CHECK-NEXT:     return %0 : tensor<16x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @all_four(%arg0: tensor<16x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}]>}) -> tensor<16x16x16xf32> {
// CHECK-NEXT:     %0 = sdy.all_slice [{}, {}, {"z"}] %arg0 out_sharding=<@mesh, [{"x", "y"}, {}, {"z"}]> : tensor<16x16x16xf32>
// CHECK-NEXT:     %1 = sdy.collective_permute %0 out_sharding=<@mesh, [{"y", "x"}, {}, {"z"}]> : tensor<16x16x16xf32>
// CHECK-NEXT:     %2 = sdy.all_to_all [{"x"}: 0->1] %1 out_sharding=<@mesh, [{"y"}, {"x"}, {"z"}]> : tensor<16x16x16xf32>
// CHECK-NEXT:     %3 = sdy.all_gather [{"y"}, {}, {}] %2 out_sharding=<@mesh, [{}, {"x"}, {"z"}]> : tensor<16x16x16xf32>
// CHECK-NEXT:     return %3 : tensor<16x16x16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @other_order_of_devices(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32>, tensor<16xf32>) {
// CHECK-NEXT:     %0 = sdy.collective_permute %arg0 out_sharding=<@turned, [{"x"}]> : tensor<16xf32>
// CHECK-NEXT:     %1 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<16xf32>
// CHECK-NEXT:     return %0, %1 : tensor<16xf32>, tensor<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @seen_through_barriers(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
// CHECK-NEXT:     %0 = sdy.propagation_barrier %arg0 allowed_direction=NONE : tensor<16xf32>
// CHECK-NEXT:     %1 = sdy.all_slice [{"y"}] %arg0 out_sharding=<@mesh, [{"x", "y"}]> : tensor<16xf32>
// CHECK-NEXT:     return %1 : tensor<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @redundant(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
// CHECK-NEXT:     return %arg0, %arg1 : tensor<16xf32>, tensor<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @stays(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
// CHECK-NEXT:     %0 = sdy.reshard %arg0 <@other, [{"x"}]> : tensor<16xf32>
// CHECK-NEXT:     %1 = sdy.reshard %arg0 <@device, []> : tensor<16xf32>
// CHECK-NEXT:     %2 = sdy.reshard %1 <@mesh, [{"x"}]> : tensor<16xf32>
// CHECK-NEXT:     return %0, %1, %2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
