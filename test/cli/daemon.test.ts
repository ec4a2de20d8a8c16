import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processStart } from '../../src/machine/process-identity-and-signals.ts';
import { cliIn, errorIn, it, linesOf, refusal, setUp, waitFor } from './support.ts';

describe.concurrent('daemon', () => {
  it('runs what there is and what comes, until Ctrl-C', async ({ world }) => {
    setUp(world);
    const daemon = world.start(['daemon', '--concurrency', '2']);
    await daemon.says(`Daemon ${daemon.pid} works on ${world.stateDir}. Ctrl-C stops it.`);
    await world.reaches('p', 'a', 'complete');
    world.plan('q', { tickets: { b: {} } });
    await world.reaches('q', 'b', 'complete');
    const { code, out, err } = await daemon.kill('SIGINT');
    expect(code).toBe(0);
    expect(err).toContain('Stopping the daemon and its agents…');
    expect(out).toContain('p/a: build started');
    expect(out).toContain('q/b complete');
    expect(out.trimEnd().endsWith('The daemon has stopped.')).toBe(true);
  });

  it('leaves what it stopped so that the next one goes on with it', async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const first = world.start(['daemon']);
    const { pid } = await world.call('working');
    await first.kill('SIGTERM');
    expect(processStart(pid)).toBeUndefined();
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'ready', claim: null, hold: null });
    world.go();
    world.start(['daemon']);
    await world.reaches('p', 'a', 'complete');
  });

  it('is alone: a second one says who holds the seat and ends with 3', async ({ world }) => {
    setUp(world);
    const first = world.start(['daemon']);
    await first.says('works on');
    for (const args of [['daemon'], ['daemon', '--detach']]) {
      const second = await world.cli(...args);
      expect(second.code).toBe(3);
      expect(refusal(second)).toMatch(
        new RegExp(
          `^❌ A daemon is already running here: .*pid ${first.pid} on .*\\n {3}Stop it with: signalbox daemon stop\\n$`,
        ),
      );
    }
    expect(errorIn(await world.cli('daemon', '--json')).code).toBe('daemon/held');
    expect(first.alive).toBe(true);
  });

  it('tells events as JSON lines', async ({ world }) => {
    setUp(world);
    const daemon = world.start(['daemon', '--json']);
    await daemon.says('"plan:status"');
    const { out } = await daemon.kill('SIGTERM');
    const [first, ...rest] = linesOf<{ type: string }>(out);
    expect(first).toEqual({ type: 'daemon:start', pid: daemon.pid, stateDir: world.stateDir });
    expect(rest.map(({ type }) => type)).toContain('attempt:end');
  });

  it('works in the background, can be asked after, and is stopped', async ({ world }) => {
    setUp(world, 'note working; go; commit');
    expect(await world.cli('daemon', 'status')).toMatchObject({ code: 1, out: 'No daemon is running.\n' });
    expect(await world.json('daemon', 'status')).toEqual({ running: false, pid: null, host: null });
    const { pid, log } = await world.json<{ pid: number; log: string }>('daemon', '--detach');
    const { pid: agent } = await world.call('working');
    expect(log).toBe(join(world.home, 'logs', 'daemon.log'));
    const status = await world.cli('daemon', 'status');
    expect(status.code).toBe(0);
    expect(status.out).toMatch(new RegExp(`^Daemon ${pid} is running on .*\\.\n$`));
    expect(await world.cli('daemon', 'stop')).toMatchObject({ code: 0, out: `Daemon ${pid} has stopped.\n` });
    expect([pid, agent].map(processStart)).toEqual([undefined, undefined]);
    expect(readFileSync(log, 'utf8')).toContain('"type":"attempt:start"');
    expect(await world.json('daemon', 'stop')).toEqual({ stopped: false, pid: null });
    expect(existsSync(join(world.stateDir, 'daemon.json'))).toBe(false);
  });

  it('says what keeps it from starting in the background', async ({ world }) => {
    setUp(world);
    const wrong = await world.cli('daemon', '--detach', '--agent', 'nobody');
    expect(wrong.code).toBe(2);
    expect(refusal(wrong)).toContain('no agent is called "nobody"');
    const dir = join(world.dir, 'theirs');
    mkdirSync(dir);
    writeFileSync(join(dir, 'signalbox.yaml'), 'maxConcurrency: 2\n');
    const home = join(world.dir, 'nowhere');
    const untrusted = await cliIn(world, dir, ['daemon', '--detach'], { SIGNALBOX_HOME: home });
    expect(untrusted.code).toBe(2);
    expect(refusal(untrusted)).toContain(`signalbox config trust ${dir}`);
  });

  it('is taken over when its holder is dead', async ({ world }) => {
    setUp(world);
    const first = world.start(['daemon']);
    await first.says('works on');
    await first.kill('SIGKILL');
    expect((await world.cli('daemon', 'status')).code).toBe(1);
    const second = world.start(['daemon']);
    await second.says(`Daemon ${second.pid} works on`);
  });

  it('of another host is never stopped by its pid here', async ({ world }) => {
    setUp(world);
    const bystander = world.start(['daemon']);
    await bystander.says('works on');
    const seat = join(world.stateDir, 'daemon.json');
    const claim = JSON.parse(readFileSync(seat, 'utf8')) as { token: string };
    writeFileSync(seat, JSON.stringify({ ...claim, host: 'elsewhere', machine: 'other', boot: 'theirs' }));
    const ended = await world.cli('daemon', 'stop');
    expect(ended.code).toBe(3);
    expect(refusal(ended)).toContain(`Daemon ${bystander.pid} is running on elsewhere, not here.`);
    for (const args of [['stop'], ['status'], ['--detach']]) {
      const { out, err } = await world.cli('daemon', ...args);
      expect(out + err, args.join()).toMatch(
        /It cannot be seen from here\. If it is gone, its lease ends in \d+ s; then: signalbox daemon\n/,
      );
      expect(out + err).not.toContain('Stop it with');
    }
    expect(bystander.alive).toBe(true);
  });
});

describe.concurrent('tick', () => {
  it('starts what can start now, waits for it, and ends', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: { blockedBy: ['a'] } });
    expect((await world.cli('tick')).code).toBe(0);
    expect(world.ticket('p', 'a').status).toBe('complete');
    expect(world.ticket('p', 'b').status).toBe('queued');
    expect(
      linesOf<{ type: string }>((await world.cli('tick', '--json')).out).map(({ type }) => type),
    ).toContain('attempt:end');
    expect(world.ticket('p', 'b').status).toBe('complete');
  });

  it('leaves a plan alone that a run has', async ({ world }) => {
    setUp(world, 'note working; go; commit', { a: {}, b: {} });
    const run = world.start(['run', 'p', '--concurrency', '1']);
    await world.call('working');
    expect(await world.cli('tick')).toMatchObject({ code: 0, out: '' });
    expect(world.calls('start')).toHaveLength(1);
    world.go();
    expect((await run.ended).code).toBe(0);
  });

  it('ends with 130 after Ctrl-C', async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const tick = world.start(['tick']);
    await world.call('working');
    expect((await tick.kill('SIGINT')).code).toBe(130);
    await waitFor('the ticket to be free', () => world.ticket('p', 'a').claim === null);
    expect(world.ticket('p', 'a').status).toBe('ready');
  });
});

describe.concurrent('the settings of a daemon', () => {
  it('that change count for work that starts afterwards; a broken file is reported once', async ({
    world,
  }) => {
    setUp(world, 'commit', {});
    world.agent('other', 'commit');
    world.config({ pollInterval: 1 });
    const daemon = world.invoke(['daemon', '--plain']);
    await daemon.says('works on');
    world.plan('p', { tickets: { a: {} } });
    await world.reaches('p', 'a', 'complete');
    world.config({ defaultAgent: 'other' });
    world.plan('q', { tickets: { a: {} } });
    await world.reaches('q', 'a', 'complete');
    expect(world.ticket('q', 'a').phaseHistory[0]?.agent).toBe('other');

    const file = join(world.home, 'config.yaml');
    const good = readFileSync(file, 'utf8');
    writeFileSync(file, 'maxConcurrency: none\n');
    await daemon.says(
      /! .*config\.yaml:1:17: maxConcurrency: found the text "none"; .* The last good settings stay in force\./,
    );
    world.plan('r', { tickets: { a: {} } });
    await world.reaches('r', 'a', 'complete');
    expect(world.ticket('r', 'a').phaseHistory[0]?.agent).toBe('other');

    writeFileSync(file, JSON.stringify({ ...JSON.parse(good), notify: { bell: false }, maxConcurrency: 1 }));
    await daemon.says('! notify has changed; that needs a restart of the daemon.');
    const { out, err } = await daemon.kill('SIGTERM');
    expect(`${out}${err}`.split('stay in force').length - 1).toBe(1);
  });
});
