// What attributes and types refuse.
//
// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{Static dimension 0 cannot have a bound, use ShapedType::kDynamic to indicate a missing bound in tensor 'tensor<3xf32>'}}
func.func private @f1(tensor<3xf32, #stablehlo.bounds<3>>)

// -----

// expected-error @+1 {{Bounds length is 2, expected to be equal to rank(1) of the tensor 'tensor<?xf32>'}}
func.func private @f2(tensor<?xf32, #stablehlo.bounds<3, ?>>)

// -----

// expected-error @+1 {{unknown StableHLO attribute}}
func.func private @f2(tensor<?xf32, #stablehlo.foo<3, ?>>)

// -----

// expected-error @+1 {{expected ::mlir::stablehlo::Precision to be one of: DEFAULT, HIGH, HIGHEST}}
func.func private @f4(tensor<?xf32, #stablehlo<precision BAR>>)

// -----

// expected-error @+1 {{unknown chlo attribute}}
func.func private @f4(tensor<?xf32, #chlo.foo<x>>)

// -----

// expected-error @+1 {{dialect 'chlo' provides no type parsing hook}}
func.func private @f4(!chlo.foo)

// -----

// expected-error @+1 {{unknown stablehlo type: foo}}
func.func private @f4(!stablehlo<foo>)

// -----

// expected-error @+1 {{expected ','}}
func.func private @f4() attributes {a.b = #stablehlo.channel_handle<handle = 1>}

// -----

// expected-error @+1 {{duplicate or unknown struct parameter name: typ}}
func.func private @f4() attributes {a.b = #stablehlo.channel_handle<handle = 1, typ = 2>}

// -----

// expected-error @+1 {{duplicated `lhs_batching_dimensions` entry}}
func.func private @f4() attributes {a.b = #stablehlo.dot<lhs_batching_dimensions = [0], lhs_batching_dimensions = [1]>}

// -----

// expected-error @+1 {{expected one of: `lhs_batching_dimensions`, `rhs_batching_dimensions`, `lhs_contracting_dimensions`, `rhs_contracting_dimensions`}}
func.func private @f4() attributes {a.b = #stablehlo.dot<lhs_batch_dimensions = [0]>}

// -----

// expected-error @+1 {{expected integer value}}
func.func private @f4() attributes {a.b = #stablehlo.gather<index_vector_dim = [0]>}

// -----

// expected-error @+1 {{expected ::mlir::stablehlo::ResultAccuracyMode to be one of: DEFAULT, HIGHEST, TOLERANCE}}
func.func private @f4() attributes {a.b = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<FOO>>}

// -----

// expected-error @+1 {{expected '<'}}
func.func private @f4() attributes {a.b = #stablehlo.mesh_axis<name = "x", size = 2>, a.c = #stablehlo.mesh<axes=[]>}

// -----

// expected-error @+1 {{duplicate or unknown struct parameter name: mesh_name}}
func.func private @f4() attributes {a.b = #stablehlo.replica_group_mesh_axes<mesh_name = @mesh, axes = [#stablehlo.axis_ref<name = "foo">, #stablehlo.axis_ref<name = "bar">]>}

// -----

// expected-error @+1 {{expected integer value}}
func.func private @f4() attributes {a.b = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = maybe>}

// -----

// expected-error @+1 {{expected non-function type}}
func.func private @f4() attributes {a.b = #stablehlo.dot_algorithm<lhs_precision_type = 3, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>}

// -----

// expected-error @+1 {{expected valid keyword or string}}
func.func private @f4() attributes {a.b = #stablehlo.precision<HIGH>}

// -----

// expected-error @+1 {{future element type must be a ranked tensor, but got 'f32'}}
func.func private @f4(!stablehlo.future<f32>)

// -----

// expected-error @+1 {{expected non-function type}}
func.func private @f4(!stablehlo.future<>)

// -----

// expected-error @+2 {{unexpected decimal integer literal for a floating point value}}
// expected-note @+1 {{add a trailing dot to make the literal a float}}
func.func private @f5() attributes {a.b = #stablehlo.result_accuracy<atol = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}

// -----

// expected-error @+1 {{integer value too large}}
func.func private @f5() attributes {a.b = #stablehlo.bounds<9223372036854775808>}

// -----

// expected-error @+1 {{constant too large for index}}
func.func private @f5() attributes {a.b = affine_map<(d0) -> (d0 + 9223372036854775808)>}

// -----

// expected-error @+1 {{elements of type 'i0' are not supported}}
func.func private @f5() attributes {a.b = array<i0: 0>}
