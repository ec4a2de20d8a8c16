import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface AgentLog {
  /** What the agents append to. */
  log: string;
  command: string;
}

/**
 * An agent that writes down when and where it runs and which others run then. It announces itself before it searches for others, so of two at once
 * the later one sees the earlier. Its one commit is the last thing that it does.
 */
export function writeAgent(dir: string, seed: number): AgentLog {
  const [log, live, command] = [join(dir, 'runs.log'), join(dir, 'live'), join(dir, 'bin', 'chaos-agent')];
  mkdirSync(live);
  writeFileSync(log, '');
  writeFileSync(
    command,
    `#!/bin/sh
[ "$*" != --version ] || { echo 999.0.0; exit; }
me="$SIGNALBOX_PLAN,$SIGNALBOX_TICKET,$SIGNALBOX_PHASE.$SIGNALBOX_VISIT.$SIGNALBOX_ATTEMPT,$$"
: > "${live}/$me"
living=
for file in '${live}'/*; do
  pid=\${file##*,}
  [ "$pid" != $$ ] || continue
  name= state=
  if [ -d /proc/self ]; then read -r _ name state _ 2>/dev/null < "/proc/$pid/stat" || :
  else name=$(ps -o args= -p "$pid") state=$(ps -o stat= -p "$pid"); fi
  case $state$name in
    Z*) ;;
    *chaos-agent*) living="$living \${file##*/}" ;;
    *) rm -f "$file" ;;
  esac
done
machine=\${PWD%%/trees/*}
printf 'start\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\n' "$me" "$(date +%s%3N)" "\${machine##*/}" \\
  "$SIGNALBOX_PLAN" "$PWD" "$(git branch --show-current)" "\${living# }" >> '${log}'
number=\${SIGNALBOX_TICKET#??}
number=\${number%L}
tenths=$(((\${number#0} * 37 + \${#SIGNALBOX_PHASE} * 11 + ${seed}) % 14 + 4))
case $SIGNALBOX_TICKET.$SIGNALBOX_PHASE in *L.build) tenths=150 ;; esac
sleep $((tenths / 10)).$((tenths % 10))
echo "$me" >> "work-$SIGNALBOX_PHASE.txt"
git add --all && git commit --quiet --message="$me" || exit 1
rm -f "${live}/$me"
printf 'end\\t%s\\t%s\\n' "$me" "$(date +%s%3N)" >> '${log}'
`,
  );
  chmodSync(command, 0o755);
  return { log, command };
}
