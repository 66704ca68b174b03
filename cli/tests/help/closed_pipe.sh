(onnxtool help; echo "exit $?" >&2) | true
