#!/bin/sh
# Runs a go command that takes long the first time, and tells how far it is:
#
#   progress.sh WHAT PACKAGES go build -v ...
#
# WHAT is what is built, and PACKAGES are those that go list -deps counts first. The lines of downloads, and the names of packages that -v
# prints, become numbers in one line; on a terminal it is overwritten each second, in a log there is one every 15 seconds.
# Everything else, such as errors, is printed as it is. The exit code is that of the command.
set -u
: "${GO:=go}"

what=$1
packages=$2
shift 2

terminal=
[ ! -t 2 ] || terminal=yes

# What the commands print is read from a pipe. Three kinds of lines come from here, marked by characters that no output has.
tick=$(printf '\001')
ended=$(printf '\002')
counted=$(printf '\003')

# report prints the numbers.
report() {
    text="$what: $seconds s"
    [ "$downloads" -eq 0 ] || text="$text, $downloads modules downloaded"
    [ "$compiled" -eq 0 ] || text="$text, $compiled of $all packages compiled"
    if [ -n "$terminal" ]; then
        printf '\r\033[K%s ' "$text" >&2
    elif [ $((seconds % 15)) -eq 0 ]; then
        echo "$text" >&2
    fi
}

# erase removes the line of a terminal.
erase() {
    [ -z "$terminal" ] || printf '\r\033[K' >&2
}

# show prints a line of the command, unless it is only counted.
show() {
    case $1 in
    'go: downloading '*) downloads=$((downloads + 1)) ;;
    *[!a-zA-Z0-9_.~/-]* | '' | [!a-z]*)
        erase
        printf '%s\n' "$1" >&2
        ;;
    *) compiled=$((compiled + 1)) ;;
    esac
}

# follow reads the pipe until the command has ended. A mark may come in the middle of a line, or at its end.
follow() {
    seconds=0 downloads=0 compiled=0 all=0 held=
    while IFS= read -r line; do
        case $line in
        *"$tick")
            held=$held${line%"$tick"}
            seconds=$((seconds + 1))
            report
            ;;
        *"$counted"*) all=${line#*"$counted"} ;;
        *"$ended"*)
            held=$held${line%"$ended"*}
            [ -z "$held" ] || show "$held"
            erase
            [ "$seconds" -lt 15 ] || echo "$what: done in $seconds s" >&2
            return "${line##*"$ended"}"
            ;;
        *)
            show "$held$line"
            held=
            ;;
        esac
    done
    erase
    return 130
}

# build runs the command. Standard output stays what it is.
build() {
    # shellcheck disable=SC2086 # There may be several.
    list=$("$GO" list -deps $packages) || return
    printf '%s%s\n' "$counted" "$(echo "$list" | wc -l | tr -d ' ')"
    "$@" 2>&1 >&3
}

exec 3>&1
{
    # The ticks end with the command, or when nobody reads them any more.
    while sleep 1; do printf '%s\n' "$tick" || exit; done 2>/dev/null 3>&- &
    ticker=$!
    build "$@" 2>&1
    code=$?
    kill "$ticker" 2>/dev/null
    printf '%s%s\n' "$ended" "$code"
} | follow
