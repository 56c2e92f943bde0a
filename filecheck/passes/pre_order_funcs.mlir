// RUN: sdy-opt %s --sdy-pre-order-funcs | filecheck %s

// Functions stand behind meshes, each before what it calls.

func.func private @leaf(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

func.func private @declared(tensor<8xf32>) -> tensor<8xf32>

func.func private @middle(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @leaf(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @declared(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @second(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @middle(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @second(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @leaf(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

sdy.mesh @mesh = <["x"=2]>

// CHECK:      module {
// CHECK-NEXT:   func.func private @declared(tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @second(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @middle(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @second(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @leaf(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @middle(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @leaf(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = call @declared(%0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @leaf(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
