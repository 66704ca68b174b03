onnxtool check --explain node.unknown-op
onnxtool check --explain all | head -n 3
onnxtool check --explain nonsense
