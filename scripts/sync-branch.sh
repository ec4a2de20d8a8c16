#!/bin/sh
# sync-branch.sh [--theirs]: takes over what people pushed to the ticket's branch, and fetches its base.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "sync-branch.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." >&2
  exit 2
fi

exec "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" forge sync "$@"
