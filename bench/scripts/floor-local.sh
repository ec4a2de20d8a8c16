#!/bin/bash
# What the workflow local does to one ticket, without an orchestrator: worktree, agent, check, review, merge, cleanup.
export SIGNALBOX_TICKET=t1
path=../worktrees/t1
git worktree add -q -b ticket/t1 "$path" origin/main --no-track || exit 1
(cd "$path" && SIGNALBOX_PHASE=implement "$BENCH_REVIEW_STUB" && sh -c "$BENCH_CHECK") || exit 1
(cd "$path" && SIGNALBOX_PHASE=self_review "$BENCH_REVIEW_STUB") || exit 1
git merge -q --no-edit ticket/t1 || exit 1
git worktree remove "$path"
