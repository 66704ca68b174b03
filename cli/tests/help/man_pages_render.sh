for page in "$TESTDATA"/../man/*.1; do grep -q "^.SH SYNOPSIS" "$page" || echo "$page has no synopsis"; done
