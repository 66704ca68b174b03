(sleep 0.3; onnxtool help; echo "exit $?" >&2) | true
