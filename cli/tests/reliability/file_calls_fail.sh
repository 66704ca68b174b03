# Reading, writing, syncing, naming: each call fails, once or from there on.
. "$CASES/walk.bash"
walk files 1
