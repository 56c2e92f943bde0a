// RUN: sdy-opt %s --sdy-resolve-single-device-sharding --verify-diagnostics

sdy.mesh @mesh = <["x"=2]>
sdy.mesh @first = <[], device_ids=[0]>
sdy.mesh @second = <[], device_ids=[1]>

func.func @two_devices(%arg0: tensor<6xi32>) -> tensor<6xi32> {
  // expected-error @+1 {{results: expected all on one device, got device 0 and device 1}}
  %0:2 = stablehlo.custom_call @pair(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@first, []>, <@second, []>]>} : (tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
  return %arg0 : tensor<6xi32>
}
