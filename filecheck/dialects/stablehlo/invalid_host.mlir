// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// What reaches out of the program: infeed, send, recv, custom calls, random bits, composites.

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{last element of result types is expected to be of token type, but got 'tensor<8xf32>'}}
  %0:2 = "stablehlo.infeed"(%arg0) : (!stablehlo.token) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{'stablehlo.infeed' op result #0 must be variadic of statically shaped tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values or statically shaped tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values or token, but got 'tensor<?xf32>'}}
  %0:2 = "stablehlo.infeed"(%arg0) : (!stablehlo.token) -> (tensor<?xf32>, !stablehlo.token)
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{layout-attribute size must be 1 (which is the number of op-results - 1 (for token result)), but got 0}}
  %0:2 = "stablehlo.infeed"(%arg0) <{layout = []}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{layout-attribute expected to have elements of type array, but got 1 : i64}}
  %0:2 = "stablehlo.infeed"(%arg0) <{layout = [1]}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{layout-attribute's leaf elements are expected to be of type integer, but got "x"}}
  %0:2 = "stablehlo.infeed"(%arg0) <{layout = [["x"]]}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.infeed' op operand #0 must be token, but got 'tensor<8xf32>'}}
  %0:2 = "stablehlo.infeed"(%arg0) : (tensor<8xf32>) -> (tensor<8xf32>, !stablehlo.token)
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.outfeed' op operand #1 must be token, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.outfeed"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> !stablehlo.token
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: !stablehlo.token) {
  // expected-error @+2 {{channel_type should be DEVICE_TO_DEVICE when is_host_transfer is false}}
  // expected-error @+1 {{'stablehlo.send' op failed to infer returned types}}
  %0 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 2>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: !stablehlo.token) {
  // expected-error @+2 {{channel_type should be DEVICE_TO_HOST when is_host_transfer is true}}
  // expected-error @+1 {{'stablehlo.send' op failed to infer returned types}}
  %0 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = true}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{channel_type should be DEVICE_TO_DEVICE when is_host_transfer is false}}
  %0:2 = "stablehlo.recv"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 2>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{channel_type should be HOST_TO_DEVICE when is_host_transfer is true}}
  %0:2 = "stablehlo.recv"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{last element of result types is expected to be of token type, but got 'tensor<8xf32>'}}
  %0:2 = "stablehlo.recv"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> : (!stablehlo.token) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<2xui64>) {
  // expected-error @+1 {{output state shape must be compatible with initial state shape. Got: 'tensor<2xui64>' and 'tensor<3xui64>'}}
  %0:2 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<3xui64>, tensor<8xi32>)
  return
}

// -----

func.func @main(%arg0: tensor<2xui64>) {
  // expected-error @+1 {{'stablehlo.rng_bit_generator' op result #1 must be statically shaped tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float values, but got 'tensor<?xi32>'}}
  %0:2 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<?xi32>)
  return
}

// -----

func.func @main(%arg0: i32) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand #0 must be variadic of tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values or memref of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values or token or nested tuple with any combination of tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values or memref of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values or token values or future, but got 'i32'}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f"}> : (i32) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op Layout attributes should be specified for either both operands and results or none.}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", operand_layouts = [dense<0> : tensor<1xindex>]}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op Number of operands must match the number of operand layouts, 1 != 0}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", operand_layouts = [], result_layouts = []}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op incorrect layout dense<1> : tensor<1xindex> for type 'tensor<8xf32>', layout must be a permutation of [0, 1)}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", operand_layouts = [dense<1> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: !stablehlo.token) {
  // expected-error @+1 {{'stablehlo.custom_call' op Only tensor types can have non-empty layout: operand #0 of type '!stablehlo.token' has layout dense<0> : tensor<1xindex>}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]}> : (!stablehlo.token) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tuple<tensor<8xf32>>) {
  // expected-error @+1 {{'stablehlo.custom_call' op Tuple types are not fully supported with layout constraints yet}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]}> : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op expects operandIndex in the output_operand_alias attribute to be in range [0, 1); got: 1.}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op operand_tuple_indices in the output_operand_alias attribute out of bounds}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = [0]>]}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op output_tuple_indices in the output_operand_alias attribute out of bounds}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op shapes mismatch in the output_operand_alias attribute: operand part has type 'tensor<8xf32>' and output part has type 'tensor<2x3xf32>'}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op backend_config for api_version API_VERSION_TYPED_FFI must be a dictionary attribute.}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", api_version = 4 : i32, backend_config = ""}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op backend_config for api_version API_VERSION_ORIGINAL must be a string attribute.}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f", backend_config = {}}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op CreateBuffer custom_call shouldn't have any inputs}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "CreateBuffer"}> : (tensor<8xf32>) -> memref<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op Pin custom_call should have a memref output}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "Pin"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op Pin custom_call should have compatible input and output types}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "Pin"}> : (tensor<8xf32>) -> memref<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op Unpin custom_call should have a memref input}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "Unpin"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: memref<8xf32>) {
  // expected-error @+1 {{'stablehlo.custom_call' op buffer output [] is not used in output_operand_alias}}
  %0 = "stablehlo.custom_call"(%arg0) <{call_target_name = "f"}> : (memref<8xf32>) -> memref<8xf32>
  return
}

// -----

func.func private @g(tensor<8xf32>) -> (tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{name must be a valid namespaced op name, i.e. it must match the following regular expression: ^[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+$ e.g. "my_namespace.my_op"}}
  %0 = "stablehlo.composite"(%arg0) <{decomposition = @g, name = "x"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @h(tensor<8xf32>) -> (tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'g' does not reference a valid function}}
  %0 = "stablehlo.composite"(%arg0) <{decomposition = @g, name = "x.y"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @g(tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{has 1 operand(s), but decomposition has 2}}
  %0 = "stablehlo.composite"(%arg0) <{decomposition = @g, name = "x.y"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @g(tensor<2x3xf32>) -> (tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{operand at index 0 has type 'tensor<8xf32>', but decomposition has type 'tensor<2x3xf32>'}}
  %0 = "stablehlo.composite"(%arg0) <{decomposition = @g, name = "x.y"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @g(tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{has 1 result(s), but decomposition has 2}}
  %0 = "stablehlo.composite"(%arg0) <{decomposition = @g, name = "x.y"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @g(tensor<8xf32>) -> (tensor<2x3xf32>)
func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{result at index 0 has type 'tensor<8xf32>', but decomposition has type 'tensor<2x3xf32>'}}
  %0 = "stablehlo.composite"(%arg0) <{decomposition = @g, name = "x.y"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}
