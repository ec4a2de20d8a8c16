#!/bin/sh
# checks.sh: runs the project's own checks in the ticket's worktree.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "checks.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." >&2
  exit 2
fi

exec "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" checks
