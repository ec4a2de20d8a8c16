import { dirname, join, sep } from 'node:path';
import { OWN_FLAGS } from '../gemini/gemini.ts';
import { type Launcher, ownArgs, secretFile, withSkillIndex } from './launch.ts';

/**
 * Its prompt is context of a directory that is taken along. File tools see only directories that were named, so skills
 * and state are among them. Servers it takes from its own settings alone: other files it refuses unless root owns them.
 */
export const gemini: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const context = join(dir, 'context');
  const along = [context, ...outermost(skills.map((skill) => dirname(skill.dir))), ...writes];
  const servers = Object.keys(mcpServers);
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, OWN_FLAGS),
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

/** It asks the person about each directory, so there should be few. */
function outermost(paths: readonly string[]): string[] {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((other) => path.startsWith(other + sep)));
}
