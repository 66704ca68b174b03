# Each long option of each command's --help is in each script, and each script quotes what it holds.
for shell in bash zsh fish; do
    onnxtool completion $shell > script.$shell
    for command in $(onnxtool help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do
        for option in $(onnxtool "$command" --help | grep -oE '^ {2,}(-[a-zA-Z], )?--[a-z][a-z0-9-]*' | grep -oE -- '--[a-z][a-z0-9-]*'); do
            case $shell in
            bash) sed -n "/^    $command)/,/esac ;;/p" script.bash | grep -q -- " $option\\( \\|'\\)" ;;
            zsh) sed -n "/^    $command)/,/;;/p" script.zsh | grep -q -- "$option[=[]" ;;
            fish) grep -q "from $command' -l ${option#--} " script.fish ;;
            esac || echo "$shell: $command lacks $option"
        done
    done
    [ "$(tr -cd "'" < script.$shell | wc -c)" -gt 100 ] && echo "$shell: done"
done
bash -n script.zsh && echo "zsh: reads as a shell script"
onnxtool completion; echo "exit $?"
onnxtool completion tcsh; echo "exit $?"
