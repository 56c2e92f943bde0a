// Loops, branches, tuples, tokens, constants. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @loops(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg1) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %arg0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg, %c : tensor<i32>
      %2:2 = stablehlo.while(%iterArg_1 = %iterArg, %iterArg_2 = %iterArg_0) : tensor<i32>, tensor<4xf32> attributes {note}
      cond {
        %3 = stablehlo.compare LT, %iterArg_1, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        stablehlo.return %iterArg_1, %iterArg_2 : tensor<i32>, tensor<4xf32>
      }
      stablehlo.return %1, %2#1 : tensor<i32>, tensor<4xf32>
    }
    return %0#1 : tensor<4xf32>
  }
  func.func @branches(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<f32>) {
    %0 = "stablehlo.if"(%arg0) ({
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      stablehlo.return %cst : tensor<f32>
    }, {
      stablehlo.return %arg2 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %1:2 = "stablehlo.case"(%arg1) ({
      stablehlo.return %arg2, %0 : tensor<f32>, tensor<f32>
    }, {
      stablehlo.return %0, %arg2 {note} : tensor<f32>, tensor<f32>
    }) : (tensor<i32>) -> (tensor<f32>, tensor<f32>)
    "stablehlo.case"(%arg1) ({
      stablehlo.return 
    }) : (tensor<i32>) -> ()
    return
  }
  func.func @tuples_and_tokens(%arg0: tensor<4xf32>, %arg1: tensor<2xi32>) {
    %0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<4xf32>, tensor<2xi32>>
    %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<4xf32>, tensor<2xi32>>) -> tensor<2xi32>
    %2 = stablehlo.tuple  : tuple<>
    %3 = stablehlo.create_token : !stablehlo.token
    %4 = stablehlo.create_token {note} : !stablehlo.token
    %5 = stablehlo.after_all %3, %4 : !stablehlo.token
    %6 = stablehlo.after_all  : !stablehlo.token
    %7:2 = stablehlo.optimization_barrier %arg0, %5 : tensor<4xf32>, !stablehlo.token
    %8 = stablehlo.optimization_barrier {note} %arg1 : tensor<2xi32>
    stablehlo.optimization_barrier()
    return
  }
  func.func @constants() {
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %c_0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %cst = stablehlo.constant {note = "kept"} dense<[[1.500000e+00, -0.000000e+00], [0x7FC00000, 0xFF800000]]> : tensor<2x2xf32>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<> : tensor<0x3xui8>
    %c_3 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f8E4M3FN>
    %c_5 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xui8>
    return
  }
}
