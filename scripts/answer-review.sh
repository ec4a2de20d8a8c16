#!/bin/sh
# answer-review.sh: pushes what was done about feedback and comments on the pull request.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "answer-review.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." >&2
  exit 2
fi

exec "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" forge answer
