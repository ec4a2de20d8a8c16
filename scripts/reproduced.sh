#!/bin/sh
# reproduced.sh: passes only when the checks fail with what was committed since the base and pass without it, as a test that
# shows a bug makes them.
set -eu

if [ -z "${SIGNALBOX_CLI:-}" ] || [ -z "${SIGNALBOX_NODE:-}" ]; then
  echo "reproduced.sh: SIGNALBOX_CLI and SIGNALBOX_NODE are not set; run this as a script phase of a workflow." >&2
  exit 2
fi

# The files that are taken out while the checks run without them; beside the index, so that the next run finds it.
files=$(git rev-parse --git-path signalbox-reproduced)

run() {
  code=0
  "$SIGNALBOX_NODE" "$SIGNALBOX_CLI" "$@" || code=$?
}

show() {
  git --literal-pathspecs restore --worktree --source="$1" --pathspec-from-file="$files" --pathspec-file-nul
}

put_back() {
  [ ! -f "$files" ] || show HEAD
  rm -f "$files"
}

put_back
if ! git diff --quiet HEAD; then
  echo "There are changes in the worktree that are not committed; commit the test, and nothing else." >&2
  exit 1
fi
if git diff --quiet --diff-filter=d "$SIGNALBOX_BASE" HEAD; then
  echo "No test was committed: nothing shows the bug. Write a test that fails because of it, and commit it." >&2
  exit 1
fi

run checks --related
# Not every project's tests can be told apart by file.
[ "$code" -ne 0 ] || run checks
case $code in
  0)
    echo "The tests pass: nothing shows the bug. Write a test that fails because of it." >&2
    exit 1
    ;;
  1) ;;
  *) exit "$code" ;;
esac

trap put_back EXIT
trap 'exit 143' HUP INT TERM
git diff -z --name-only --no-renames --diff-filter=d "$SIGNALBOX_BASE" HEAD >"$files.new"
mv "$files.new" "$files"
echo "The same without what was committed:"
show "$SIGNALBOX_BASE"
run checks
case $code in
  0) echo "The tests fail, as they should." ;;
  1)
    echo "The checks fail without the new test, too, so it shows nothing. Does it fail because of the bug, and is the base sound?" >&2
    exit 1
    ;;
  *) exit "$code" ;;
esac
