#!/bin/bash
# One worktree and one agent after the other in it: $1 times.
export SIGNALBOX_TICKET=t1
path=../worktrees/t1
git worktree add -q -b ticket/t1 "$path" origin/main --no-track || exit 1
for ((i = 1; i <= $1; i++)); do
  (cd "$path" && SIGNALBOX_PHASE=p$i "$BENCH_STUB") || exit 1
done
git worktree remove "$path"
