// A transform along a whole dimension, another along a sharded one.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<8x8xf32>) -> tensor<8x5xcomplex<f32>>
  %1 = stablehlo.fft %0, type = IRFFT, length = [8] : (tensor<8x5xcomplex<f32>>) -> tensor<8x8xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.add %2, %x : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
