# memory_bytes is that of the machine.
onnxtool check --limit help | sed '/^memory_bytes/s/[0-9]\{6,\}/N/'
onnxtool check --limit nothing=1 2>&1
onnxtool check --limit nesting 2>&1
