import { join } from 'node:path';
import { type Launcher, ownArgs, secretFile } from './launch.ts';

const HEADLESS = [
  { names: ['--print', '-p', '--continue', '-c', '--resume', '-r', '--no-session'], takesValue: false },
  { names: ['--mode', '--session', '--fork', '--export'], takesValue: true },
];

export const pi: Launcher = ({ agent, dir, prompt, skills, mcpServers }) => {
  const servers = Object.keys(mcpServers);
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, HEADLESS),
      ...(agent.model ? ['--model', agent.model] : []),
      '--append-system-prompt',
      join(dir, 'planner.md'),
      ...skills.flatMap((skill) => ['--skill', skill.dir]),
    ],
    env: { ...agent.env },
    files: [secretFile(dir, 'planner.md', prompt)],
    notes: servers.length > 0 ? [`pi has no MCP, so ${servers.join(', ')} cannot be used in it.`] : [],
  };
};
