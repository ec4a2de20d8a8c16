#!/bin/sh
# setup-worktree.sh <repo> <branch> <worktree>: makes the ticket's worktree, or finds it as it should be.
set -eu

fail() {
  echo "setup-worktree.sh: $1" >&2
  exit "${2:-1}"
}

[ -n "${SIGNALBOX_CLI:-}" ] && [ -n "${SIGNALBOX_NODE:-}" ] ||
  fail "SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." 2
[ "$#" -eq 3 ] || fail "expected <repo> <branch> <worktree>, got $# arguments." 2

# The directory that a repository and all its worktrees share.
common() {
  (cd "$1" && cd "$(git rev-parse --git-common-dir)" && pwd -P)
}

"$SIGNALBOX_NODE" "$SIGNALBOX_CLI" workspace ensure

[ -d "$3" ] || fail "there is no worktree at $3."
[ "$(common "$3")" = "$(common "$1")" ] || fail "$3 is not a worktree of $1."
branch=$(git -C "$3" symbolic-ref --quiet --short HEAD) || fail "$3 is on no branch; expected $2."
[ "$branch" = "$2" ] || fail "$3 is on branch $branch; expected $2."
