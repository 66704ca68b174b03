# Memory runs out, at one allocation or from one on.
. "$CASES/walk.bash"
walk memory 31
