import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CLI, environment, run, scratch } from './cli.ts';
import { doc } from './markdown.ts';

/** Does everything that a page asks of the reader, in a home of its own, and returns what was printed, by command. */
async function follow(page: string): Promise<{ printed: Map<string, string>; log: string }> {
  const home = scratch();
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  symlinkSync(CLI, join(bin, 'signalbox'));
  const env = {
    ...environment(home),
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
  };
  const printed = new Map<string, string>();
  let cwd = home;
  for (const { lang, title = '', text } of doc(page).blocks.filter(({ section }) => section !== 'Install')) {
    if (lang === 'yaml') {
      writeFileSync(join(home, '.signalbox', title), text);
      continue;
    }
    const commands = lang === 'sh' ? [text] : text.trim().split('\n');
    for (const command of commands.map((each) => each.replace(/^\$ /, ''))) {
      const { code, out, err } = await run('/bin/sh', ['-ec', command], { cwd, env });
      expect(code, `${command}\n${out}\n${err}`).toBe(0);
      printed.set(command, out);
      const into = /^cd ~\/(\S+)$/m.exec(command)?.[1];
      if (into) cwd = join(home, into);
    }
  }
  const { out: log } = await run('git', ['log', '--format=%s', '--all'], { cwd, env });
  return { printed, log };
}

it('getting started leads from the first command to a merged change', async () => {
  const { printed, log } = await follow('docs/getting-started.md');
  expect(printed.get('signalbox run --task "Add a greeting" --agent rehearsal')).toContain('1 of 1 done');
  expect(printed.get('signalbox diff add-a-greeting')).toContain('diff --git');
  expect(log).toMatch(/^Merge feature\/farewell-add-a-farewell: Add a farewell$/m);
  expect(log).toMatch(/^Merge feature\/add-a-greeting: Add a greeting$/m);
});

it('the first plan runs both tickets and leaves them merged', { tags: 'full' }, async () => {
  const { printed, log } = await follow('docs/first-plan.md');
  expect(printed.get('signalbox run tea')).toContain('2 of 2 done');
  expect(log).toContain('Merge ticket/tea/cli: Add the teatime command');
});

it('the first workflow asks, goes back after a rejection, and merges', { tags: 'full' }, async () => {
  const { printed, log } = await follow('docs/first-workflow.md');
  expect(printed.get('signalbox run tea || true')).toContain('[visit 2]');
  expect(printed.get('signalbox run tea')).toContain('1 of 1 done');
  expect(log).toContain('Merge ticket/tea/greeting: Add a greeting');
});
