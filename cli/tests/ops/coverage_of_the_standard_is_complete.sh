onnxtool ops --coverage >all
code=$?
grep -v ' com.microsoft ' all | grep -v deprecated | awk '$5 == "-" || $6 == "-" || $7 == "-"'
grep 'of the standard lack' all | cut -d, -f1
exit $code
