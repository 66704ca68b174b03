# Every current operator, in one object.
onnxtool ops -f json >all.json
head -n 5 all.json
grep -c "\"since\"" all.json
onnxtool ops | tail -n +2 | wc -l | tr -d " "
