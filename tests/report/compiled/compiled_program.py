"""A program and what compilers could have made of it, which the tests of compiled programs share."""

PROGRAM = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<16x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %arg2: tensor<8x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16> loc("jit(f)/dot"("model.py":7:3))
  %1 = sdy.sharding_constraint %arg2 <@mesh, [{}, {}]> : tensor<8x8xbf16>
      loc("jit(f)/constraint"("model.py":9:3))
  return %0, %1 : tensor<8x8xbf16>, tensor<8x8xbf16>
}
"""
"""Sums for line 7, and gathers for line 9."""

SUM = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""
LINE_7 = 'metadata={op_name="jit(f)/dot" source_file="model.py" source_line=7}'
LINE_9 = 'metadata={op_name="jit(f)/constraint" source_file="model.py" source_line=9}'
COMPILED = f"""HloModule jit_f, is_scheduled=true, num_partitions=4
{SUM}
ENTRY %main {{
  %p = bf16[8,4]{{1,0}} parameter(0)
  %q = bf16[4,8]{{1,0}} parameter(1)
  %r = bf16[2,8]{{1,0}} parameter(2)
  %dot = f32[8,8]{{1,0}} dot(%p, %q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {LINE_7}
  %sum.1 = f32[8,8]{{1,0}} all-reduce(%dot), replica_groups={{{{0,1,2,3}}}}, to_apply=%add, {LINE_7}
  %c = bf16[8,8]{{1,0}} convert(%sum.1), {LINE_7}
  %gather = bf16[8,8]{{1,0}} all-gather(%r), dimensions={{0}}, replica_groups={{{{0,1,2,3}}}}, {LINE_9}
  ROOT %t = (bf16[8,8]{{1,0}}, bf16[8,8]{{1,0}}) tuple(%c, %gather)
}}
"""
"""As a host has it: the sum is of f32."""
