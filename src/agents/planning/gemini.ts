import { join } from 'node:path';
import { type Launcher, ownArgs, secretFile, withSkillIndex } from './launch.ts';

const HEADLESS = [
  { names: ['--skip-trust', '--acp', '--experimental-acp', '--list-sessions'], takesValue: false },
  {
    names: [
      '--output-format',
      '-o',
      '--prompt',
      '-p',
      '--prompt-interactive',
      '-i',
      '--resume',
      '-r',
      '--session-id',
      '--session-file',
      '--worktree',
      '-w',
    ],
    takesValue: true,
  },
];
/**
 * Its prompt is context of a directory that is taken along. File tools see only directories that were named, so skills
 * and state are among them. Servers it takes from its own settings alone: other files it refuses unless root owns them.
 */
export const gemini: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const context = join(dir, 'context');
  const along = [context, ...skills.map((skill) => skill.dir), ...writes];
  const servers = Object.keys(mcpServers);
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, HEADLESS),
      ...(agent.model ? ['--model', agent.model] : []),
      ...[...new Set(along)].flatMap((path) => ['--include-directories', path]),
    ],
    env: { ...agent.env },
    files: [secretFile(context, 'GEMINI.md', withSkillIndex(prompt, skills))],
    notes:
      servers.length > 0
        ? [
            `gemini takes MCP servers from its own settings only; add ${servers.join(', ')} with: gemini mcp add`,
          ]
        : [],
  };
};
