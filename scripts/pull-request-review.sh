#!/bin/sh
# pull-request-review.sh: looks whether the ticket's pull request was approved, for a gate.
# Prints the decision and what was said; exit code 1 means not yet.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "pull-request-review.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as the script of a gate." >&2
  exit 2
fi

exec "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" forge review
