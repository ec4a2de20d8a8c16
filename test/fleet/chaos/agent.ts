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
pids=
for file in '${live}'/*; do
  pid=\${file##*,}
  [ "$pid" = $$ ] || pids="$pids,$pid"
done
living=
if [ -n "$pids" ]; then
  alive=$(ps -o pid=,stat=,args= -p "\${pids#,}" | grep chaos-agent | grep -v '^ *[0-9]* Z' | while read -r pid rest; do echo "$pid"; done)
  for file in '${live}'/*; do
    case " $(echo $alive) " in
      *" \${file##*,} "*) living="$living \${file##*/}" ;;
      *) [ "\${file##*/}" = "$me" ] || case "$pids," in *",\${file##*,},"*) rm -f "$file" ;; esac ;;
    esac
  done
fi
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
