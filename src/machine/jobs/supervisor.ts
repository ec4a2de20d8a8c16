/**
 * The supervisor of every job: plain sh, so that it starts in a millisecond and has nothing that can fail.
 * It leads its own session, notes who it is, runs the command in the foreground (a background one would ignore
 * SIGINT), lives through the signals meant for the command, and leaves the exit record last. `exec` in a subshell
 * makes the command a program whatever its name, never a word of the shell.
 * Its files are for their owner alone; the command gets back the umask it would have had.
 * A record counts only when its closing brace and newline are there, so half a write is no record.
 */
export const SUPERVISOR = `
d=$1; in=$2; u=$3; shift 3
umask 077
trap : TERM INT HUP QUIT
field20() { shift 19; t=$1; }
if [ -r /proc/$$/stat ]; then read -r s < /proc/$$/stat; field20 \${s##*) }; else t=$(ps -o lstart= -p $$); fi
printf '%s\\n%s\\n' "$$" "$t" > "$d/pid"
(exec < "$in" > "$d/stdout" 2> "$d/stderr"; umask "$u"; exec "$@")
c=$?
printf '{"code":%d}\\n' "$c" > "$d/exit.json"
`;
