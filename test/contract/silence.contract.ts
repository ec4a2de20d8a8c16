import { describe, expect } from 'vitest';
import { story } from '../support/world.ts';
import { attempts, it, SELECTED, withModelServer } from './bench.ts';

withModelServer();

describe.each(SELECTED)('$name', (cli) => {
  it('waits for a slow stream', async ({ bench }) => {
    bench.prepare(cli, [{ say: 'Slowly, one piece at a time.', everyMs: 400 }], { idleSeconds: cli.quiet });
    expect(story(await bench.run())).toEqual(['build success']);
  });

  it.for([['hang', { hang: true }] as const, ['stall', { say: 'And now…', end: 'stall' }] as const])(
    'is stopped when the provider falls silent: %s',
    async ([, reply], { bench }) => {
      bench.prepare(cli, [reply], { idleSeconds: cli.quiet });
      const [attempt] = attempts(await bench.run());
      expect(attempt).toMatchObject({ status: 'failure', error: { class: 'idle' } });
      expect(await bench.left()).toEqual([]);
    },
  );
});
