import { closeSync, openSync, readSync } from 'node:fs';
import type { Env } from '../../machine/environment.ts';
import { commandFiles, findExecutable, statIfSeen } from '../../machine/probe.ts';
import type { AgentConfig } from '../../model/agent.ts';

/** What is wrong with a program, and how it is put right. */
export interface Trouble {
  detail: string;
  fix: string;
}

/** Why an agent's program cannot be started although something of its name is there; undefined otherwise. */
export function unusable({ name, command }: AgentConfig, env: Env): Trouble | undefined {
  const found = findExecutable(command, env);
  if (found) return withoutInterpreter(found, env);
  const there = commandFiles(command, env).flatMap((file) => {
    const stat = statIfSeen(file);
    return stat ? [{ file, stat }] : [];
  });
  const plain = there.find(({ stat }) => stat.isFile());
  if (plain) return { detail: `${plain.file} is not executable`, fix: `Run: chmod +x ${plain.file}` };
  const dir = command.includes('/') && there.find(({ stat }) => stat.isDirectory());
  if (!dir) return undefined;
  return { detail: `${dir.file} is a directory`, fix: `Name the program itself in agents.${name}.command.` };
}

/** A script whose `#!` line names a program that is not there. */
function withoutInterpreter(file: string, env: Env): Trouble | undefined {
  const [, program = '', first = ''] = /^#![ \t]*(\S+)[ \t]*(\S*)/.exec(beginning(file)) ?? [];
  if (program === '') return undefined;
  const isEnv = /(?:^|\/)env$/.test(program) && /^[^-=][^=]*$/.test(first);
  const missing = [program, ...(isEnv ? [first] : [])].find((name) => !findExecutable(name, env));
  if (missing === undefined) return undefined;
  return {
    detail: `${file} cannot be started: its first line names ${missing}, which is not there`,
    fix: `Install ${missing}, or correct the first line.`,
  };
}

function beginning(file: string): string {
  const buffer = Buffer.alloc(256);
  try {
    const fd = openSync(file, 'r');
    try {
      return buffer.toString('utf8', 0, readSync(fd, buffer));
    } finally {
      closeSync(fd);
    }
  } catch {
    // A program may be allowed to be run and not to be read.
    return '';
  }
}
