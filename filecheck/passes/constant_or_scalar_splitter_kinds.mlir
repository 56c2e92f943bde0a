// RUN: sdy-opt %s --split-input-file --sdy-constant-or-scalar-splitter | filecheck %s

// Which ops keep constants constant; dynamic sizes; sharding groups; named computations.

func.func @kinds(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = stablehlo.constant dense<1.0> : tensor<8xf32>
  %i = stablehlo.constant dense<1> : tensor<8xi32>
  %b0 = stablehlo.bitcast_convert %i : (tensor<8xi32>) -> tensor<8xf32>
  %b1 = stablehlo.bitcast_convert %i : (tensor<8xi32>) -> tensor<8x2xi16>
  %b2 = stablehlo.bitcast_convert %b1 : (tensor<8x2xi16>) -> tensor<8xf32>
  %p = stablehlo.compare LT, %c, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %s = stablehlo.select %p, %c, %b0 : tensor<8xi1>, tensor<8xf32>
  %cl = stablehlo.clamp %c, %s, %c : tensor<8xf32>
  %rp = stablehlo.reduce_precision %cl, format = e5m2 : tensor<8xf32>
  %e = chlo.erf_inv %rp : tensor<8xf32> -> tensor<8xf32>
  %na = chlo.next_after %e, %c : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %ba = chlo.broadcast_add %e, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %cc = chlo.constant dense<1.0> : tensor<8xf32>
  %sl = stablehlo.slice %ba [0:8] : (tensor<8xf32>) -> tensor<8xf32>
  %m = "stablehlo.map"(%c) ({
    ^bb0(%x: tensor<f32>):
      stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  %cat = stablehlo.concatenate %c, dim = 0 : (tensor<8xf32>) -> tensor<8xf32>
  %ob = stablehlo.optimization_barrier %c : tensor<8xf32>
  %cv = stablehlo.convert %i : (tensor<8xi32>) -> tensor<8xf32>
  %r = sdy.reshard %cv <@mesh, [{"x"}]> : tensor<8xf32>
  %0 = stablehlo.add %b2, %a : tensor<8xf32>
  %1 = stablehlo.add %rp, %0 : tensor<8xf32>
  %2 = stablehlo.add %na, %1 : tensor<8xf32>
  %3 = stablehlo.add %sl, %2 : tensor<8xf32>
  %4 = stablehlo.add %cc, %3 : tensor<8xf32>
  %5 = stablehlo.add %m, %4 : tensor<8xf32>
  %6 = stablehlo.add %cat, %5 : tensor<8xf32>
  %7 = stablehlo.add %ob, %6 : tensor<8xf32>
  %8 = stablehlo.add %r, %7 : tensor<8xf32>
  %9 = stablehlo.add %sl, %8 : tensor<8xf32>
  %10 = stablehlo.add %r, %9 : tensor<8xf32>
  return %10, %rp : tensor<8xf32>, tensor<8xf32>
}
sdy.mesh @mesh = <["x"=2]>
// -----
func.func @dynamic(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<8xf32>, tensor<?xf32>) {
  %c = stablehlo.constant dense<1.0> : tensor<8xf32>
  %d = stablehlo.convert %c : (tensor<8xf32>) -> tensor<?xf32>
  %n = stablehlo.negate %d : tensor<?xf32>
  %e = stablehlo.convert %n : (tensor<?xf32>) -> tensor<8xf32>
  %s = stablehlo.add %n, %n : tensor<?xf32>
  %q = chlo.square %s : tensor<?xf32> -> tensor<?xf32>
  %sl = stablehlo.slice %n [0:8] : (tensor<?xf32>) -> tensor<?xf32>
  %r = stablehlo.reshape %c : (tensor<8xf32>) -> tensor<8xf32>
  %0 = stablehlo.add %a, %n : tensor<?xf32>
  %1 = stablehlo.add %0, %q : tensor<?xf32>
  %2 = stablehlo.transpose %e, dims = [0] : (tensor<8xf32>) -> tensor<8xf32>
  %3 = stablehlo.add %1, %sl : tensor<?xf32>
  %4 = stablehlo.add %3, %n : tensor<?xf32>
  %5 = stablehlo.add %2, %e : tensor<8xf32>
  %6 = stablehlo.add %r, %5 : tensor<8xf32>
  %7 = stablehlo.add %3, %sl : tensor<?xf32>
  return %4, %6, %7 : tensor<?xf32>, tensor<8xf32>, tensor<?xf32>
}
// -----
sdy.mesh @mesh = <["x"=2]>
func.func @groups(%a: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<8xf32>
  sdy.sharding_group %c group_id=0 : tensor<8xf32>
  sdy.sharding_group %c group_id=1 : tensor<8xf32>
  %n = stablehlo.negate %c : tensor<8xf32>
  sdy.sharding_group %n group_id=2 : tensor<8xf32>
  sdy.sharding_group %n group_id=3 : tensor<8xf32>
  %0 = stablehlo.add %a, %n : tensor<8xf32>
  %1 = stablehlo.add %0, %n : tensor<8xf32>
  %2 = stablehlo.add %1, %c : tensor<8xf32>
  return %2 : tensor<8xf32>
}
// -----
func.func @named(%a: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<8xf32>
  %0 = sdy.named_computation<"x">(%c) (%p: tensor<8xf32>) {
    %k = stablehlo.constant dense<2.0> : tensor<8xf32>
    %y = sdy.named_computation<"y">(%p) (%q: tensor<8xf32>) {
      %z = stablehlo.add %q, %q : tensor<8xf32>
      sdy.return %z : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %u = stablehlo.add %y, %k : tensor<8xf32>
    %v = stablehlo.add %u, %k : tensor<8xf32>
    sdy.return %v : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.named_computation<"w">(%c) (%p: tensor<8xf32>) {
    %z = stablehlo.reverse %p, dims = [0] : tensor<8xf32>
    sdy.return %z : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.add %0, %a : tensor<8xf32>
  %3 = stablehlo.add %0, %2 : tensor<8xf32>
  %4 = stablehlo.add %1, %3 : tensor<8xf32>
  %5 = stablehlo.add %1, %4 : tensor<8xf32>
  return %5 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func @kinds(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %3 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %4 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %5 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %6 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %7 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %8 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %9 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %10 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %11 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %12 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %13 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %14 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %15 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %16 = sdy.constant dense<1> : tensor<8xi32>
// CHECK-NEXT:     %17 = stablehlo.bitcast_convert %10 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT:     %18 = stablehlo.bitcast_convert %11 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT:     %19 = stablehlo.bitcast_convert %12 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT:     %20 = stablehlo.bitcast_convert %14 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT:     %21 = stablehlo.bitcast_convert %16 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT:     %22 = stablehlo.bitcast_convert %9 : (tensor<8xi32>) -> tensor<8x2xi16>
// CHECK-NEXT:     %23 = stablehlo.bitcast_convert %22 : (tensor<8x2xi16>) -> tensor<8xf32>
// CHECK-NEXT:     %24 = stablehlo.compare LT, %0, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
// CHECK-NEXT:     %25 = stablehlo.compare LT, %5, %5 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
// CHECK-NEXT:     %26 = stablehlo.compare LT, %6, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
// CHECK-NEXT:     %27 = stablehlo.compare LT, %7, %7 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
// CHECK-NEXT:     %28 = stablehlo.compare LT, %8, %8 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
// CHECK-NEXT:     %29 = stablehlo.select %24, %0, %17 : tensor<8xi1>, tensor<8xf32>
// CHECK-NEXT:     %30 = stablehlo.select %25, %5, %18 : tensor<8xi1>, tensor<8xf32>
// CHECK-NEXT:     %31 = stablehlo.select %26, %6, %19 : tensor<8xi1>, tensor<8xf32>
// CHECK-NEXT:     %32 = stablehlo.select %27, %7, %20 : tensor<8xi1>, tensor<8xf32>
// CHECK-NEXT:     %33 = stablehlo.select %28, %8, %21 : tensor<8xi1>, tensor<8xf32>
// CHECK-NEXT:     %34 = stablehlo.clamp %0, %29, %0 : tensor<8xf32>
// CHECK-NEXT:     %35 = stablehlo.clamp %5, %30, %5 : tensor<8xf32>
// CHECK-NEXT:     %36 = stablehlo.clamp %6, %31, %6 : tensor<8xf32>
// CHECK-NEXT:     %37 = stablehlo.clamp %7, %32, %7 : tensor<8xf32>
// CHECK-NEXT:     %38 = stablehlo.clamp %8, %33, %8 : tensor<8xf32>
// CHECK-NEXT:     %39 = stablehlo.reduce_precision %34, format = e5m2 : tensor<8xf32>
// CHECK-NEXT:     %40 = stablehlo.reduce_precision %35, format = e5m2 : tensor<8xf32>
// CHECK-NEXT:     %41 = stablehlo.reduce_precision %36, format = e5m2 : tensor<8xf32>
// CHECK-NEXT:     %42 = stablehlo.reduce_precision %37, format = e5m2 : tensor<8xf32>
// CHECK-NEXT:     %43 = stablehlo.reduce_precision %38, format = e5m2 : tensor<8xf32>
// CHECK-NEXT:     %44 = chlo.erf_inv %39 : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:     %45 = chlo.erf_inv %41 : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:     %46 = chlo.erf_inv %42 : tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:     %47 = chlo.next_after %44, %1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
// CHECK-NEXT:     %48 = chlo.broadcast_add %45, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %49 = chlo.broadcast_add %46, %7 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %50 = chlo.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %51 = stablehlo.slice %48 [0:8] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %52 = stablehlo.slice %49 [0:8] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %53 = "stablehlo.map"(%2) <{dimensions = array<i64: 0>}> ({
// CHECK-NEXT:     ^bb0(%arg1: tensor<f32>):
// CHECK-NEXT:       stablehlo.return %arg1 : tensor<f32>
// CHECK-NEXT:     }) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %54 = stablehlo.concatenate %3, dim = 0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %55 = stablehlo.optimization_barrier %4 : tensor<8xf32>
// CHECK-NEXT:     %56 = stablehlo.convert %13 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT:     %57 = stablehlo.convert %15 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT:     %58 = sdy.reshard %56 <@mesh, [{"x"}]> : tensor<8xf32>
// CHECK-NEXT:     %59 = sdy.reshard %57 <@mesh, [{"x"}]> : tensor<8xf32>
// CHECK-NEXT:     %60 = stablehlo.add %23, %arg0 : tensor<8xf32>
// CHECK-NEXT:     %61 = stablehlo.add %40, %60 : tensor<8xf32>
// CHECK-NEXT:     %62 = stablehlo.add %47, %61 : tensor<8xf32>
// CHECK-NEXT:     %63 = stablehlo.add %51, %62 : tensor<8xf32>
// CHECK-NEXT:     %64 = stablehlo.add %50, %63 : tensor<8xf32>
// CHECK-NEXT:     %65 = stablehlo.add %53, %64 : tensor<8xf32>
// CHECK-NEXT:     %66 = stablehlo.add %54, %65 : tensor<8xf32>
// CHECK-NEXT:     %67 = stablehlo.add %55, %66 : tensor<8xf32>
// CHECK-NEXT:     %68 = stablehlo.add %58, %67 : tensor<8xf32>
// CHECK-NEXT:     %69 = stablehlo.add %52, %68 : tensor<8xf32>
// CHECK-NEXT:     %70 = stablehlo.add %59, %69 : tensor<8xf32>
// CHECK-NEXT:     return %70, %43 : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   func.func @dynamic(%arg0: tensor<?xf32>) -> (tensor<?xf32>, tensor<8xf32>, tensor<?xf32>) {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %3 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %4 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %5 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %6 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %7 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %8 = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %9 = stablehlo.convert %1 : (tensor<8xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %10 = stablehlo.convert %2 : (tensor<8xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %11 = stablehlo.convert %3 : (tensor<8xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %12 = stablehlo.convert %4 : (tensor<8xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %13 = stablehlo.convert %5 : (tensor<8xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %14 = stablehlo.convert %7 : (tensor<8xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %15 = stablehlo.negate %8 : tensor<?xf32>
// CHECK-NEXT:     %16 = stablehlo.negate %9 : tensor<?xf32>
// CHECK-NEXT:     %17 = stablehlo.negate %10 : tensor<?xf32>
// CHECK-NEXT:     %18 = stablehlo.negate %11 : tensor<?xf32>
// CHECK-NEXT:     %19 = stablehlo.negate %12 : tensor<?xf32>
// CHECK-NEXT:     %20 = stablehlo.negate %13 : tensor<?xf32>
// CHECK-NEXT:     %21 = stablehlo.negate %14 : tensor<?xf32>
// CHECK-NEXT:     %22 = stablehlo.convert %15 : (tensor<?xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %23 = stablehlo.add %16, %17 : tensor<?xf32>
// CHECK-NEXT:     %24 = chlo.square %23 : tensor<?xf32> -> tensor<?xf32>
// CHECK-NEXT:     %25 = stablehlo.slice %19 [0:8] : (tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %26 = stablehlo.slice %21 [0:8] : (tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %27 = stablehlo.reshape %6 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %28 = stablehlo.add %arg0, %18 : tensor<?xf32>
// CHECK-NEXT:     %29 = stablehlo.add %28, %24 : tensor<?xf32>
// CHECK-NEXT:     %30 = stablehlo.transpose %22, dims = [0] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %31 = stablehlo.add %29, %25 : tensor<?xf32>
// CHECK-NEXT:     %32 = stablehlo.add %31, %20 : tensor<?xf32>
// CHECK-NEXT:     %33 = stablehlo.add %30, %22 : tensor<8xf32>
// CHECK-NEXT:     %34 = stablehlo.add %27, %33 : tensor<8xf32>
// CHECK-NEXT:     %35 = stablehlo.add %31, %26 : tensor<?xf32>
// CHECK-NEXT:     return %32, %34, %35 : tensor<?xf32>, tensor<8xf32>, tensor<?xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT:   func.func @groups(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %0 group_id=0 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %0 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %1 group_id=0 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %1 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %2 group_id=0 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %2 group_id=1 : tensor<8xf32>
// CHECK-NEXT:     %3 = stablehlo.negate %0 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %3 group_id=3 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %3 group_id=2 : tensor<8xf32>
// CHECK-NEXT:     %4 = stablehlo.negate %1 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %4 group_id=3 : tensor<8xf32>
// CHECK-NEXT:     sdy.sharding_group %4 group_id=2 : tensor<8xf32>
// CHECK-NEXT:     %5 = stablehlo.add %arg0, %3 : tensor<8xf32>
// CHECK-NEXT:     %6 = stablehlo.add %5, %4 : tensor<8xf32>
// CHECK-NEXT:     %7 = stablehlo.add %6, %2 : tensor<8xf32>
// CHECK-NEXT:     return %7 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// CHECK:      module {
// CHECK-NEXT:   func.func @named(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %2 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %3 = sdy.named_computation<"x">(%1) (%arg1: tensor<8xf32>) {
// CHECK-NEXT:       %10 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:       %11 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:       %12 = sdy.named_computation<"y">(%arg1) (%arg2: tensor<8xf32>) {
// CHECK-NEXT:         %15 = stablehlo.add %arg2, %arg2 : tensor<8xf32>
// CHECK-NEXT:         sdy.return %15 : tensor<8xf32>
// CHECK-NEXT:       } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       %13 = stablehlo.add %12, %10 : tensor<8xf32>
// CHECK-NEXT:       %14 = stablehlo.add %13, %11 : tensor<8xf32>
// CHECK-NEXT:       sdy.return %14 : tensor<8xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %4 = sdy.named_computation<"x">(%2) (%arg1: tensor<8xf32>) {
// CHECK-NEXT:       %10 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:       %11 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:       %12 = sdy.named_computation<"y">(%arg1) (%arg2: tensor<8xf32>) {
// CHECK-NEXT:         %15 = stablehlo.add %arg2, %arg2 : tensor<8xf32>
// CHECK-NEXT:         sdy.return %15 : tensor<8xf32>
// CHECK-NEXT:       } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       %13 = stablehlo.add %12, %10 : tensor<8xf32>
// CHECK-NEXT:       %14 = stablehlo.add %13, %11 : tensor<8xf32>
// CHECK-NEXT:       sdy.return %14 : tensor<8xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %5 = sdy.named_computation<"w">(%0) (%arg1: tensor<8xf32>) {
// CHECK-NEXT:       %10 = stablehlo.reverse %arg1, dims = [0] : tensor<8xf32>
// CHECK-NEXT:       sdy.return %10 : tensor<8xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %6 = stablehlo.add %3, %arg0 : tensor<8xf32>
// CHECK-NEXT:     %7 = stablehlo.add %4, %6 : tensor<8xf32>
// CHECK-NEXT:     %8 = stablehlo.add %5, %7 : tensor<8xf32>
// CHECK-NEXT:     %9 = stablehlo.add %5, %8 : tensor<8xf32>
// CHECK-NEXT:     return %9 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
