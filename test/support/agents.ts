import { chmodSync, readFileSync, writeFileSync } from 'node:fs';

/** One line of the log that agents append to. It lies outside every worktree, so it counts what really ran. */
export interface Call {
  /** `start` and `end` come by themselves; anything else was noted by the agent's own lines. */
  what: string;
  /** `plan/ticket`. */
  ticket: string;
  /** `phase.visit.attempt`. */
  attempt: string;
  pid: number;
  cwd: string;
}

/**
 * What every agent and script of a test begins with. It is newer than any CLI. `note` writes to the log, `commit` leaves evidence,
 * `go` waits until the test allows the ticket to go on, and `alone` fails when another live agent is in the same directory.
 */
function prelude(log: string, go: string): string {
  return `#!/bin/sh
note() {
  printf '%s %s %s %s %s\\n' "$1" "$SIGNALBOX_PLAN/$SIGNALBOX_TICKET" \\
    "$SIGNALBOX_PHASE.$SIGNALBOX_VISIT.$SIGNALBOX_ATTEMPT" "$$" "$PWD" >> '${log}'
}
commit() {
  echo "$SIGNALBOX_PHASE $SIGNALBOX_VISIT $SIGNALBOX_ATTEMPT" >> "work-$SIGNALBOX_TICKET.txt"
  git add --all && git commit --quiet --message="\${1:-$SIGNALBOX_PHASE}"
}
go() {
  while [ ! -e "${go}/$SIGNALBOX_TICKET" ] && [ ! -e "${go}/all" ]; do
    [ -d "${go}" ] || exit # The test is over.
    sleep 0.05
  done
}
alone() {
  if ! mkdir agent.lock 2>/dev/null; then
    case $(ps -o stat= -p "$(cat agent.lock/pid)") in '' | Z*) ;; *) note clash; exit 9 ;; esac
  fi
  echo $$ > agent.lock/pid
}
[ "$*" != --version ] || { echo 999.0.0; exit; }
note start
`;
}

export function writeExecutable(path: string, body: string, places: { log: string; go: string }): string {
  writeFileSync(
    path,
    `${prelude(places.log, places.go)}${body}\n[ ! -e agent.lock ] || rm -rf agent.lock\nnote end\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

export function readCalls(log: string): Call[] {
  let text: string;
  try {
    text = readFileSync(log, 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    const [what, ticket, attempt, pid, cwd] = line.split(' ');
    return what && ticket && attempt && cwd ? [{ what, ticket, attempt, pid: Number(pid), cwd }] : [];
  });
}
