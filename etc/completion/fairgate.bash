# SPDX-License-Identifier: BSD-2-Clause
#
# Completion for bash of Fairgate's commands: their words and options, as their own --help has them, so that none is forgotten here.

_fairgate()
{
    local word=${COMP_WORDS[COMP_CWORD]} said
    said=$(command "$1" --help 2> /dev/null) || return
    COMPREPLY=()
    if [[ $word == -* ]]; then
        said=$(grep -oE -- '(^|[][ |])--?[a-z][a-z0-9-]*' <<< "$said" | grep -oE -- '-.*' | sort -u)
        mapfile -t COMPREPLY < <(compgen -W "$said" -- "$word")
    elif [[ $COMP_CWORD == 1 ]]; then
        # A line of usage: the program, and a word that begins it, or one of several.
        said=$(sed -nE -e 's/^(usage:|      ) fairgate(-[a-z]+)? ([a-z]+) .*/\3/p' -e 's/^usage: fairgate-[a-z]+ (.* )?([a-z]+(\|[a-z]+)+)( .*)?$/\2/p' <<< "$said" | tr '|' '\n')
        mapfile -t COMPREPLY < <(compgen -W "$said" -- "$word")
    fi
    [[ ${#COMPREPLY[@]} != 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

complete -o filenames -F _fairgate fairgate fairgate-bots fairgate-ccncall fairgate-ccnget fairgate-door fairgate-eeod fairgate-pktcache fairgate-policy fairgate-prober fairgate-transparent
