// bf16 products summed in f32 over a sharded dimension, then rounded.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<8x4xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xbf16> {
  %a = stablehlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %0 = stablehlo.dot %a, %w : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
  %1 = stablehlo.logistic %0 : tensor<4x4xf32>
  %2 = stablehlo.convert %1 : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  return %2 : tensor<4x4xbf16>
}
