// Quantized element types, kept as text. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @quantized(%arg0: tensor<2xf32>, %arg1: tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) {
    %0 = stablehlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
    %1 = stablehlo.uniform_dequantize %arg1 : (tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<2xf32>
    %2 = stablehlo.add %0, %arg1 : tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
    %cst = stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi8>}> {note} : () -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
    return
  }
}
