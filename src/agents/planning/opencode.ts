import { join } from 'node:path';
import { type Launcher, ownArgs, secretFile } from './launch.ts';

const HEADLESS = [
  {
    names: [
      '--continue',
      '-c',
      '--fork',
      '--share',
      '--print-logs',
      '--auto',
      '--thinking',
      '--interactive',
      '-i',
    ],
    takesValue: false,
  },
  {
    names: [
      '--format',
      '--session',
      '-s',
      '--log-level',
      '--dir',
      '--attach',
      '--variant',
      '--title',
      '--file',
      '-f',
      '--command',
    ],
    takesValue: true,
  },
];

/** One directory of configuration beside the user's own has prompt, skills and servers. */
export const opencode: Launcher = ({ agent, dir, prompt, skills, mcpServers, env }) => {
  const home = join(dir, 'opencode');
  const mcp = Object.fromEntries(
    Object.entries(mcpServers).map(([name, { command, args, env: environment }]) => [
      name,
      { type: 'local', command: [command, ...args], environment, enabled: true },
    ]),
  );
  const config = { instructions: [join(dir, 'planner.md')], mcp };
  const taken = agent.env.OPENCODE_CONFIG_DIR ?? env.OPENCODE_CONFIG_DIR;
  return {
    argv: [agent.command, ...ownArgs(agent, HEADLESS), ...(agent.model ? ['--model', agent.model] : [])],
    env: { ...agent.env, OPENCODE_CONFIG_DIR: home },
    files: [
      secretFile(dir, 'planner.md', prompt),
      secretFile(home, 'opencode.json', `${JSON.stringify(config, null, 2)}\n`),
      ...skills.map((skill) => ({ path: join(home, 'skills', skill.name), to: skill.dir })),
    ],
    notes: taken ? [`Your OPENCODE_CONFIG_DIR (${taken}) is not used in this session.`] : [],
  };
};
