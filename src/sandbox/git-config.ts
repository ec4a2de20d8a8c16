import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ownDirectory, writeAnew } from './home.ts';

/** Sections of a git config that have, or lead to, logins and other people's addresses. */
const SECRET =
  /^\s*\[\s*(credential|http|https|url|remote|include|includeif|sendemail|imap|gpg|github|gitlab|hub|gitea|bitbucket|lfs|core\.sshcommand)\b/i;
const LOGIN = /:\/\/[^/\s]*@|\b(?:token|password|secret|authorization|extraheader|sshcommand|askpass)\b/i;

/** The user's settings of git as a sandboxed agent may read them, without logins: from, to. */
export async function gitSettings(spec: {
  dir: string;
  userHome: string;
  env: Readonly<Record<string, string>>;
}): Promise<(readonly [string, string])[]> {
  const { userHome, env } = spec;
  const dir = ownDirectory(spec.dir, 'git');
  const xdg = env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME) ? env.XDG_CONFIG_HOME : undefined;
  const config = join(xdg ?? join(userHome, '.config'), 'git');
  const inside = join(userHome, '.config', 'git');
  const global = env.GIT_CONFIG_GLOBAL;
  const filtered: [string, string, string][] = [
    ['gitconfig', join(userHome, '.gitconfig'), join(userHome, '.gitconfig')],
    ['config', join(config, 'config'), join(inside, 'config')],
    ...(global && isAbsolute(global) ? [['global', global, global] as [string, string, string]] : []),
  ];
  const mounts: [string, string][] = [];
  for (const [name, from, to] of filtered) {
    if (!isFile(from)) continue;
    await writeAnew(join(dir, name), withoutLogins(readFileSync(from, 'utf8')));
    mounts.push([join(dir, name), to]);
  }
  for (const name of ['ignore', 'attributes'])
    if (isFile(join(config, name))) mounts.push([join(config, name), join(inside, name)]);
  return mounts;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The text without the sections and lines that may hold a login. Signing goes too: its keys are hidden. */
export function withoutLogins(text: string): string {
  const kept: string[] = [];
  let secret = false;
  // A value may go on in the next line.
  for (const line of text.replace(/\\\r?\n/g, ' ').split('\n')) {
    if (/^\s*\[/.test(line)) secret = SECRET.test(line);
    if (!secret && !LOGIN.test(line) && !/gpgsign|signingkey/i.test(line)) kept.push(line);
  }
  return kept.join('\n');
}
