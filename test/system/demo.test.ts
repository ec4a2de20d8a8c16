import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { waitFor } from '../support/index.ts';
import { it } from './tmux-server.ts';

const demo = fileURLToPath(new URL('../../tools/demo.mjs', import.meta.url));

it('the demo waits until its page is open, and ends with the link to its page on a terminal, with the token, until Ctrl-C', async ({
  server,
}) => {
  const { dir } = server.world;
  const command = `TMPDIR='${dir}' '${process.execPath}' '${demo}' --web --clean; exec cat`;
  server.tmux('new-session', '-d', '-s', 'run', '-x', '120', '-y', '20', '-c', dir, command);
  const text = () => server.tmux('capture-pane', '-p', '-t', 'run');
  await waitFor('the wait for a reader', () => text().includes('press Enter here to start'), { state: text });
  expect(text()).not.toContain('signalbox run');
  server.tmux('send-keys', '-t', 'run', 'Enter');
  await waitFor('the end of the demo', () => text().endsWith('Ctrl-C ends it.'), { state: text });
  expect(text()).toMatch(/Four tickets merged[\s\S]* http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}$/m);
  server.tmux('send-keys', '-t', 'run', 'C-c');
  await waitFor(
    'its end',
    () => server.tmux('list-panes', '-t', 'run', '-F', '#{pane_current_command}') === 'cat',
  );
});
