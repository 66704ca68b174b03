cat > model.txtpb <<'X'
# proto-message: onnx.ModelProto
ir_version: 0xA;  opset_import { domain: '' version: 025 },
graph: <
  name: "a" ' "graph"\tof\040two\x21 \u00e9'  # pieces are one string
  node { op_type: "LeakyRelu" input: ["x", 'w'] output: "y"
         attribute { name: "alpha" type: FLOAT f: 1.5F } attribute { name: "list", type: 6, floats: [.5, 1e-3, -inf, nan, - 2] } }
  initializer { dims: [2] dims: 1 data_type: 3 name: "w" raw_data: "\001\377" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 3 } } } } }
>
X
onnxtool dump -f textproto model.txtpb
onnxtool dump -f textproto model.txtpb | onnxtool dump -f textproto - | tail -n 3
onnxtool dump -f textproto --weights none model.txtpb | grep raw_data
say() { echo "--- $1"; printf '%b' "$1" | onnxtool check - 2>&1; }
say 'ir_version: 8\ngraph {\n  nod: 1\n}'
say 'ir_version: 9223372036854775808'
say 'ir_version: 08'
say 'ir_version: "8"'
say 'ir_version: 8 ir_version: 9'
say 'ir_version: [8]'
say 'ir_version 8'
say 'ir_version: 8 domain: "a\nb"'
say 'ir_version: 8 domain: "a\\q"'
say 'ir_version: 8 domain: "a\\0b"'
say 'ir_version: 8 domain: "\\ud800"'
say 'ir_version: 8 domain: "\\377"'
say 'ir_version: 8 domain: "\\400"'
say 'ir_version: 8 domain: other'
say 'graph { node { attribute { type: FLOATY } } }'
say 'graph { node { attribute { f: 1.2.3 } } }'
say 'graph { node { attribute { f: } } }'
say 'graph { initializer { segment { begin: -1 } int32_data: 2147483648 } }'
say 'graph { input { type { tensor_type { } sequence_type { } } } }'
say 'graph { input { type '
say 'graph { [ext.field]: 1 }'
say 'graph { } }'
