// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Gather and scatter: every dimension has its part, and sizes fit.

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{offset_dims size (1) plus collapse_slice_dims size (0) plus operand_batching_dims size (0) is not equal to operand rank (2)}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{Expects index_vector_dim to be in range [0, rank-of('start_indices')] i.e. [0, 2]. got: 3.}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{start_index_map size (2) is not equal to size of index dimension (1) of start_indices (1)}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{expects offset_dims to be sorted, got: [1, 0]}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{expects offset_dims to not repeat, got: [1, 1]}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{has duplicated dimension from collapsed_slice_dims and operand_batching_dims: 0}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{Expects each element of collapsed_slice_dims to be in range [0, rank-of('operand')) i.e. [0, 2). got: 2.}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{expects collapsed_slice_dims to be sorted, got: [1, 0]}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{expects start_indices_batching_dims to not repeat, got: [0, 0]}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{Expects each element of start_indices_batching_dims to be in range [0, rank-of('start_indices')) i.e. [0, 2). got: 2.}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{expects start_indices_batching_dims not to include index_vector_dim 1}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{operand_batching_dims and start_indices_batching_dims should have the same size}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{operand_batching_dims[0] and start_indices_batching_dims[0] must have compatible sizes, but got 2 and 5}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{Expects each element of start_index_map to be in range [0, rank-of('operand')) i.e. [0, 2). got: 2.}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{slice_sizes size (1) not equal to operand rank (2)}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{Expects that for each dim in collapsed_slice_dims, slice_sizes[dim] should be <= 1, but got 2}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{slice size (4) is out of bounds for operand dimension (3) at index 1}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{Expects each element of offset_dims to be in range [0, implied-result-rank) i.e. [0, 2). got: 2.}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+2 {{'stablehlo.gather' op inferred type(s) 'tensor<5x3xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'stablehlo.gather' op failed to infer returned types}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op failed to verify that all of {operand, result} have same element type}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>) -> tensor<5x3xi32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.gather' op operand #1 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<8xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<3xi32>) {
  // expected-error @+2 {{slice_sizes size (3) not equal to operand rank (2)}}
  // expected-error @+1 {{'stablehlo.dynamic_gather' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_gather"(%arg0, %arg1, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<3xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<8xf32>, %arg2: tensor<5x1xi32>, %arg3: tensor<5x3xf32>, %arg4: tensor<5x3xf32>) {
  // expected-error @+1 {{Not all inputs have compatible shapes.}}
  %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>, %b2: tensor<f32>, %b3: tensor<f32>):
    "stablehlo.return"(%b0, %b1) : (tensor<f32>, tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<8xf32>, tensor<5x1xi32>, tensor<5x3xf32>, tensor<5x3xf32>) -> (tensor<2x3xf32>, tensor<8xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<5x1xi32>, %arg3: tensor<5x3xf32>, %arg4: tensor<8xf32>) {
  // expected-error @+1 {{Not all updates have compatible shapes.}}
  %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>, %b2: tensor<f32>, %b3: tensor<f32>):
    "stablehlo.return"(%b0, %b1) : (tensor<f32>, tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>, tensor<8xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Expects index_vector_dim to be in range [0, rank-of('scatter_indices')] i.e. [0, 2]. got: 3.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Reduction-region must take 2 parameters, but takes 1 parameter(s)}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<8xf32>) {
  // expected-error @+1 {{expects updates tensor must be of rank 2 ( == rank-of('scatter_indices') - 1 + size-of('update_window_dims'), where 'scatter_indices' is expanded by a trailing 1 dimension if 'index_vector_dim' == rank-of('scatter_indices')), but got 1.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Expects rank-of operand to match size-of('update_window_dims') + size-of('inserted_window_dims') + size-of('input_batching_dims') i.e. 1 but got 2.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3x3xf32>) {
  // expected-error @+1 {{Expects update_window_dims to be sorted; got: [1, 0].}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Expects each element of inserted_window_dims to be in range [0, rank-of('operand')) i.e. [0, 2). got: 2.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5xf32>) {
  // expected-error @+1 {{has duplicated dimension from inserted_window_dims and input_batching_dims: 0}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Scatter op has 2 elements in scatter_dims_to_operand_dims and the bound of dimension index_vector_dim=1 of scatter_indices is 1. These two numbers must be equal.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Expects each element of scatter_dims_to_operand_dims to be in range [0, rank-of('operand')) i.e. [0, 2). got: 2.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Expects scatter_indices_batching_dims to not repeat; got: [0, 0].}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{Expects each element of scatter_indices_batching_dims to be in range [0, rank-of('scatter_indices')) i.e. [0, 2). got: 2.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{expects scatter_indices_batching_dims not to include index_vector_dim 1.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{input_batching_dims and scatter_indices_batching_dims should have the same size.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{input_batching_dims[0] and scatter_indices_batching_dims[0] must have compatible sizes, but got 2 and 5.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x4xf32>) {
  // expected-error @+1 {{expects bounds of the window dimensions of updates to not exceed the bounds of the corresponding dimensions of operand. For dimension 1, updates bound is 4, operand bound is 3.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<6x3xf32>) {
  // expected-error @+1 {{expects bounds of the scatter dimensions of updates to be same as the bounds of the corresponding dimensions of scatter indices. For scatter dimension 0, updates bound is 6 , scatter_indices bound is 5.}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<6x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+2 {{'stablehlo.scatter' op inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<2x4xf32>'}}
  // expected-error @+1 {{'stablehlo.scatter' op failed to infer returned types}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xf32>, %arg2: tensor<5x3xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op operand #1 must be ranked tensor of integer or index values, but got 'tensor<5x1xf32>'}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%b0: tensor<f32>, %b1: tensor<f32>):
    "stablehlo.return"(%b0) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<5x1xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}
