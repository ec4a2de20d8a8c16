#!/bin/sh
# integrate.sh: merges the ticket's branch into its base; a conflict is printed and fails.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "integrate.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." >&2
  exit 2
fi

exec "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" integrate
