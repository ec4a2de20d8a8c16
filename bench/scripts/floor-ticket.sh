#!/bin/bash
# One ticket without an orchestrator: worktree, agent, cleanup. Git races with itself here, so it is asked again.
again() {
  for _ in 1 2 3 4 5 6 7 8; do "$@" && return 0; sleep 0.02; done
  return 1
}
export SIGNALBOX_TICKET=$1 SIGNALBOX_PHASE=work
path=../worktrees/$1
add() { git worktree add -q -B "ticket/$SIGNALBOX_TICKET" "$path" origin/main --no-track; }
again add "$1" || exit 1
(cd "$path" && "$BENCH_STUB") || exit 1
again git worktree remove "$path"
