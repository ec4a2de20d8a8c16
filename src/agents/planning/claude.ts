import { join } from 'node:path';
import { type Launcher, type LaunchFile, ownArgs, secretFile } from './launch.ts';

const HEADLESS = [
  { names: ['--print', '-p', '--verbose', '--continue', '-c'], takesValue: false },
  {
    names: [
      '--output-format',
      '--input-format',
      '--session-id',
      '--resume',
      '-r',
      '--max-turns',
      '--json-schema',
    ],
    takesValue: true,
  },
];

/** Skills come as a plugin of this session alone. */
export const claude: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const plugin = join(dir, 'signalbox');
  const hasServers = Object.keys(mcpServers).length > 0;
  const manifest = { name: 'signalbox', version: '1.0.0', description: 'Plans and tickets of Signalbox' };
  const files: LaunchFile[] = [
    secretFile(plugin, '.claude-plugin/plugin.json', `${JSON.stringify(manifest)}\n`),
    ...skills.map((skill) => ({ path: join(plugin, 'skills', skill.name), to: skill.dir })),
  ];
  if (hasServers) files.push(secretFile(dir, 'mcp.json', `${JSON.stringify({ mcpServers }, null, 2)}\n`));
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, HEADLESS),
      ...(agent.model ? ['--model', agent.model] : []),
      '--append-system-prompt',
      prompt,
      '--plugin-dir',
      plugin,
      ...(hasServers ? ['--mcp-config', join(dir, 'mcp.json')] : []),
      // Takes every argument up to the next flag, so it comes last.
      ...(writes.length > 0 ? ['--add-dir', ...writes] : []),
    ],
    env: { ...agent.env },
    files,
    notes: [],
  };
};
