import { join } from 'node:path';
import { shellQuote } from '../../model/text/shell-quote.ts';
import { type Launcher, ownArgs, type PlannerServer, secretFile, withSkillIndex } from './launch.ts';

const HEADLESS = [
  { names: ['--json', '--experimental-json', '--skip-git-repo-check', '--ephemeral'], takesValue: false },
  { names: ['--output-schema', '--output-last-message', '-o', '--color'], takesValue: true },
];

/** Its configuration is arguments, which everybody can read: servers with keys are started by a file instead. */
export const codex: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const servers = Object.entries(mcpServers);
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, HEADLESS),
      ...(agent.model ? ['-m', agent.model] : []),
      '-c',
      `developer_instructions=${toml(withSkillIndex(prompt, skills))}`,
      ...servers.flatMap(([name]) => [
        '-c',
        `mcp_servers.${name}={command="/bin/sh",args=[${toml(join(dir, `mcp-${name}.sh`))}],startup_timeout_sec=60}`,
      ]),
      ...writes.flatMap((path) => ['--add-dir', path]),
    ],
    env: { ...agent.env },
    files: servers.map(([name, server]) => secretFile(dir, `mcp-${name}.sh`, starter(server))),
    notes: [],
  };
};

function starter({ command, args, env }: PlannerServer): string {
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${shellQuote(value)}\n`);
  return `${variables.join('')}exec ${[command, ...args].map(shellQuote).join(' ')}\n`;
}

/** JSON strings are TOML strings, but for characters that TOML wants escaped and JSON leaves. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}
