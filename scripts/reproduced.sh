#!/bin/sh
# reproduced.sh: passes only when the tests that the changed files touch fail, as a reproduced bug makes them.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "reproduced.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." >&2
  exit 2
fi

run() {
  code=0
  "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" "$@" || code=$?
}

run checks --related
# Not every project's tests can be told apart by file.
[ "$code" -ne 0 ] || run checks
case $code in
  0)
    echo "The tests pass: nothing shows the bug. Write a test that fails because of it." >&2
    exit 1
    ;;
  1) echo "The tests fail, as they should." ;;
  *) exit "$code" ;;
esac
