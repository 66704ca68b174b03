# What a file says of a value stays with it through all parts that were tried: also those that lack the value and pass.
cat > m.textproto <<'END'
ir_version: 8
opset_import { version: 17 }
graph {
  name: "g"
  node { input: "x" output: "a" op_type: "Neg" }
  node { input: "a" output: "b" op_type: "Exp" }
  node { input: "b" output: "c" op_type: "Sin" }
  node { input: "c" output: "y" op_type: "Abs" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
  quantization_annotation { tensor_name: "a" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "s" } }
  quantization_annotation { tensor_name: "c" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "s" } }
  initializer { name: "s" data_type: 1 float_data: 0.5 }
}
END
onnxtool reduce m.textproto -o small.textproto -- sh -c 'text=$(onnxtool dump -f text "$0"); case $text in *Exp*Sin*) exit 1;; esac' {}
grep -A 1 -e op_type -e tensor_name small.textproto
