#!/bin/sh
# pull-request-poll.sh <open, review, merge or end>: looks where the ticket's pull request stands, for a poll or gate.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "pull-request-poll.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." >&2
  exit 2
fi

exec "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" forge poll --for "${1:-review}"
