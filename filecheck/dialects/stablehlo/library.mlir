// Linear algebra, normalization, random numbers, custom calls. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @normalization(%arg0: tensor<2x4x3xf32>, %arg1: tensor<3xf32>) {
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x4x3xf32>
    %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg1, %arg1, %arg0) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return
  }
  func.func @linear_algebra(%arg0: tensor<4x4xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<3x9xcomplex<f32>>, %arg3: tensor<3x9xf32>) {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf32>
    %1 = stablehlo.cholesky %arg0 {note} : tensor<4x4xf32>
    %2 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %3 = stablehlo.fft %arg2, type = FFT, length = [9] : (tensor<3x9xcomplex<f32>>) -> tensor<3x9xcomplex<f32>>
    %4 = stablehlo.fft %arg3, type = RFFT, length = [9] : (tensor<3x9xf32>) -> tensor<3x5xcomplex<f32>>
    return
  }
  func.func @random(%arg0: tensor<f32>, %arg1: tensor<2xi64>, %arg2: tensor<2xui64>) {
    %0 = stablehlo.rng %arg0, %arg0, %arg1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
    %output_state, %output = stablehlo.rng_bit_generator %arg2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7xui32>)
    return
  }
  func.func @custom_calls(%arg0: tensor<4x8xf32>, %arg1: !stablehlo.token) {
    stablehlo.custom_call @nothing() {has_side_effect = true} : () -> ()
    %0 = stablehlo.custom_call @"with.a name"(%arg0) {api_version = 4 : i32, backend_config = {mode = "fast", tiles = [1, 2]}, mhlo.frontend_attributes = {a = "b"}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1:2 = stablehlo.custom_call @in_place(%arg0, %arg1) {backend_config = "opaque\22", called_computations = [@custom_calls], operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x8xf32>, !stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    return
  }
  func.func @composites(%arg0: tensor<f32>) {
    %0 = stablehlo.composite "my.op" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @body, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
    %1:2 = stablehlo.composite "my.pair" %arg0, %arg0 {decomposition = @pair} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    stablehlo.composite "my.nothing"  {decomposition = @none} : () -> ()
    return
  }
  func.func @body(%arg0: tensor<f32>) -> tensor<f32> {
    return %arg0 : tensor<f32>
  }
  func.func @pair(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    return %arg0, %arg1 : tensor<f32>, tensor<f32>
  }
  func.func @none() {
    return
  }
}
