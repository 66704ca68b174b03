onnxtool completion bash > completion.bash
bash -n completion.bash && . ./completion.bash
try() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _onnxtool
    printf '%s ->' "$*"; printf ' %s' "${COMPREPLY[@]}"; echo
}
touch model.onnx 'with blank.onnx'
try onnxtool che
try onnxtool dump --ext
try onnxtool dump -f ht
try onnxtool dump --format = sv
try onnxtool check --format s
try onnxtool check --full mo
try onnxtool check with
try onnxtool dump -o mo
try onnxtool help ru
try onnxtool --ver
