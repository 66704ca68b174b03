(sleep 5) | onnxtool check --timeout 0.2 -
