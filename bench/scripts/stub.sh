#!/bin/bash
# The agent of every measurement: writes and commits one file, says one line. BENCH_SLEEP: it takes
# so many seconds longer. BENCH_TIMES names a file
# for its times.
began=$EPOCHREALTIME
name="work-$SIGNALBOX_TICKET-$SIGNALBOX_PHASE.txt"
echo "done" > "$name" && git add "$name" && git commit -q -m "Work on $SIGNALBOX_TICKET" || exit 1
[ -z "$BENCH_SLEEP" ] || sleep "$BENCH_SLEEP"
echo "committed $name"
if [ -n "$BENCH_TIMES" ]; then
  # What the supervisor above has used: nanoseconds on a CPU, then two numbers that do not matter.
  { read -r supervisor _ < "/proc/$PPID/schedstat"; } 2> /dev/null
  echo "$SIGNALBOX_TICKET $began $EPOCHREALTIME ${supervisor:-0}" >> "$BENCH_TIMES"
fi
