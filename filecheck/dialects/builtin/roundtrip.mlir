// RUN: sdy-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: sdy-opt %s --allow-unregistered-dialect | sdy-opt --allow-unregistered-dialect | filecheck %s
// RUN: sdy-opt %s --allow-unregistered-dialect --mlir-print-op-generic | sdy-opt --allow-unregistered-dialect | filecheck %s

// CHECK: #map = affine_map<(d0, d1) -> (d1, -d0 + 5)>
#swap = affine_map<(d0, d1) -> (d1, 5 - d0)>
!pair = tuple<tensor<?x2xf32>, vector<[4]xi1>>

// CHECK-LABEL: func.func @attributes
func.func @attributes() {
  // CHECK-NEXT: "test.op"() {a = #map, b = [1, 2.500000e+00, -1 : i4, unit, @f::@"g h"], c = {d, e = "a\22b"}} : () -> ()
  "test.op"() {c = {e = "a\"b", d}, a = #swap, b = [1, 2.5, 15 : i4, unit, @f::@"g h"]} : () -> ()
  // CHECK-NEXT: "test.op"() {a = dense<[1.000000e+00, 0x7FC00000]> : tensor<2xf32>, b = dense<7> : tensor<2x2xui8>, c = array<i1: true, false>} : () -> ()
  "test.op"() {a = dense<[1.0, 0x7FC00000]> : tensor<2xf32>, b = dense<[[7, 7], [7, 7]]> : tensor<2x2xui8>, c = array<i1: true, false>} : () -> ()
  // CHECK-NEXT: "test.op"() {a = #other.attr<[x -> "y>"]>, b = !other.type} : () -> ()
  "test.op"() {a = #other.attr<[x -> "y>"]>, b = !other<type>} : () -> ()
  return
}

// CHECK-LABEL: func.func @blocks
func.func @blocks() {
  // CHECK: %0:2 = "test.op"() : () -> (i32, tuple<tensor<?x2xf32>, vector<[4]xi1>>)
  %r:2 = "test.op"() : () -> (i32, !pair)
  // CHECK-NEXT: "test.op"() ({
  // CHECK-NEXT:   "test.br"()[^bb1] : () -> ()
  // CHECK-NEXT: ^bb1:  // 2 preds: ^bb0, ^bb2
  // CHECK-NEXT:   "test.br"(%0#0)[^bb2] : (i32) -> ()
  // CHECK-NEXT: ^bb2(%1: i32):  // pred: ^bb1
  // CHECK-NEXT:   "test.br"()[^bb1] : () -> ()
  // CHECK-NEXT: }) : () -> ()
  "test.op"() ({
    "test.br"()[^loop] : () -> ()
  ^loop:
    "test.br"(%r#0)[^end] : (i32) -> ()
  ^end(%a: i32):
    "test.br"()[^loop] : () -> ()
  }) : () -> ()
  return
}

// Properties that an op does not define are dropped.

// CHECK: sdy.mesh @mesh = <["a"=8]>{{$}}
"sdy.mesh"() <{mesh = #sdy.mesh<["a"=8]>, foo = [], sdy.sharding_rule = [], sym_name = "mesh"}> : () -> ()

// CHECK: func.func private @kept(tensor<8xf32>) attributes {no_inline}
"func.func"() <{sym_name = "kept", sym_visibility = "private", function_type = (tensor<8xf32>) -> (), no_inline}> ({
}) : () -> ()

// CHECK-LABEL: func.func @calls
func.func @calls(%a: tensor<8xf32>) {
  // CHECK: call @kept(%arg0) {no_inline} : (tensor<8xf32>) -> ()
  "func.call"(%a) <{callee = @kept, no_inline, foo}> : (tensor<8xf32>) -> ()
  return
}
