# SPDX-License-Identifier: BSD-2-Clause
#
# What the programs beside this file have in common: they read it (`.`), nobody runs it.
#
# Whoever calls a service is a stranger.  Nothing of what he sends is a word of a command: numbers are digits and within bounds, content is a file of a fixed name.

set -efu
PATH=/usr/bin:/bin
LC_ALL=C
export PATH LC_ALL
umask 077

most=33554432       # bytes of a content
dir=
child=

# end LINE SENTENCE: the answer is a status and why.  What was posted is read first: where it is not, httpd (mod_cgid) waits for its Timeout.
end() {
    cat > /dev/null || :
    printf 'Status: %s\r\nContent-Type: text/plain;charset=utf-8\r\nCache-Control: no-cache\r\n\r\n%s\n' "$1" "$2"
    exit 0
}

# wrong SENTENCE: what the caller sent is not what it must be.
wrong() { end '422 Unprocessable Content' "$1"; }

# number NAME LEAST MOST: $value is that number of the query.
number() {
    value=
    IFS='&'
    for word in ${QUERY_STRING-}; do
        case $word in "$1="*) value=${word#*=} ;; esac
    done
    unset IFS
    case $value in ''|0*|*[!0-9]*|??????*) wrong "$1 must be a number from $2 to $3." ;; esac
    [ "$value" -ge "$2" ] && [ "$value" -le "$3" ] || wrong "$1 must be a number from $2 to $3."
}

clean_up() {
    [ -z "$child" ] || kill "$child" 2>/dev/null || :
    [ -z "$dir" ] || rm -rf "$dir"
}

# take: in a folder of its own, which goes with the program, `in` is what was posted, and $magic its first bytes in hexadecimal digits.
take() {
    trap clean_up EXIT
    trap 'exit 1' HUP INT PIPE TERM     # by TERM httpd ends a program that it waits for no more
    dir=$(mktemp -d) && cd "$dir" || end '500 Internal Server Error' 'There is no room for the content.'
    TMPDIR=$dir     # what programs put aside goes with it
    export TMPDIR
    head -c $((most + 1)) > in || end '500 Internal Server Error' 'There is no room for the content.'
    [ -s in ] || wrong 'There is no content: POST it.'
    [ "$(wc -c < in)" -le $most ] || wrong "The content has more than $most bytes."
    magic=$(od -An -v -tx1 -N12 in | tr -d ' \n')
}

# bounded COMMAND...: $status is its exit status.  It reads what a stranger made: 20 s of a processor, 30 s, 2 GiB of addresses, files of 1 GiB, and nothing on its standard input.
# In the background, so that a signal is obeyed while it runs.
bounded() {
    status=0
    (
        ulimit -c 0
        ulimit -t 20
        ulimit -v 2097152
        ulimit -f 2097152
        exec timeout -k 1 30 "$@"
    ) < /dev/null > said 2>&1 &
    child=$!
    wait $child || status=$?
    child=
}

# image_type: $type is what the first bytes say, of these and no others.  It stands before the file's name as convert gets it (png:in): so convert looks at no name and no content to
# choose what reads it, and what runs other programs, draws scripts, or fetches URLs (SVG, MVG, MSL, PS, PDF, URL, LABEL, TEXT, ...) is never reached.
image_type() {
    case $magic in
        89504e470d0a1a0a*) type=png ;;
        ffd8ff*) type=jpeg ;;
        474946383761*|474946383961*) type=gif ;;
        424d*) type=bmp ;;
        49492a00*|4d4d002a*) type=tiff ;;
        52494646????????57454250*) type=webp ;;
        *) wrong 'The content is no image that is read here: PNG, JPEG, GIF, BMP, TIFF or WebP.' ;;
    esac
}

# convert_bounded WORDS...: photographs of 25 million pixels pass; an image of few bytes that would fill the machine does not.
convert_bounded() {
    bounded convert -limit memory 256MiB -limit map 512MiB -limit disk 1GiB -limit width 16KP -limit height 16KP -limit thread 1 -limit time 20 "$@"
    [ $status = 0 ] && [ -s out ] || wrong 'The image could not be read, or is too large.'
}

# answer TYPE: `out` is the result.
answer() {
    printf 'Content-Type: %s\r\nContent-Length: %d\r\n\r\n' "$1" "$(wc -c < out)"
    cat out
}
