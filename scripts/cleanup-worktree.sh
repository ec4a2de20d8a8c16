#!/bin/sh
# cleanup-worktree.sh <repo> <branch> <worktree>: releases the ticket's worktree; what exists only there is kept.
set -eu

fail() {
  echo "cleanup-worktree.sh: $1" >&2
  exit "${2:-1}"
}

[ -n "${SIGNALBOX_CLI:-}" ] && [ -n "${SIGNALBOX_NODE:-}" ] ||
  fail "SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." 2
[ "$#" -eq 3 ] || fail "expected <repo> <branch> <worktree>, got $# arguments." 2

if [ -d "$3" ]; then
  branch=$(git -C "$3" symbolic-ref --quiet --short HEAD) || fail "$3 is on no branch; it is left as it is."
  [ "$branch" = "$2" ] || fail "$3 is on branch $branch, not $2; it is left as it is."
fi

# Not from inside the directory that is about to go.
cd "$1"
exec "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" workspace release
