import { describe, expect } from 'vitest';
import { it, type World } from '../support/index.ts';

const SECRET = 'tok-1234-abcd-5678';
const ENV = {
  GH_TOKEN: SECRET,
  LINEAR_API_KEY: 'lin-secret-value-1',
  ANTHROPIC_API_KEY: 'ant-secret-value-1',
  MY_OWN: 'mine',
};

const dump = (world: World) => `env > '${world.dir}/'$SIGNALBOX_PHASE.env`;

function envOf(world: World, phase: string): Record<string, string> {
  const lines = world.read(`${phase}.env`).split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

describe('what agents see of our environment', () => {
  it.concurrent('no token of forge or tracker, unless the phase or the agent’s entry names it', async ({
    world,
  }) => {
    world.agent('agent', dump(world));
    world.agent('other', dump(world), { envAllow: ['MY_*'], env: { GIVEN: 'yes' } });
    world.script('dump.sh', dump(world));
    world.workflow('work', [
      { id: 'plain', type: 'agent', prompt: 'x', onSuccess: 'asks' },
      { id: 'asks', type: 'agent', prompt: 'x', env: ['GH_TOKEN'], onSuccess: 'allowed' },
      { id: 'allowed', type: 'agent', prompt: 'x', agent: 'other', onSuccess: 'script' },
      { id: 'script', type: 'script', command: 'dump.sh' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.invoke(['run', 'p'], ENV).ended).code).toBe(0);
    const tokens = (phase: string) =>
      Object.keys(envOf(world, phase)).filter((name) => name in ENV || name === 'GIVEN');
    expect(tokens('plain')).toEqual([]);
    expect(envOf(world, 'plain')).toMatchObject({ PATH: process.env.PATH, SIGNALBOX_TICKET: 'a' });
    expect(tokens('asks')).toEqual(['GH_TOKEN']);
    expect(tokens('allowed').sort()).toEqual(['GIVEN', 'MY_OWN']);
    expect(tokens('script').sort()).toEqual(Object.keys(ENV).sort());
  });

  it.concurrent('an adapter’s own keys reach its CLI and no other', async ({ world }) => {
    world.agent('mine', dump(world), { adapter: 'claude' });
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'x', agent: 'mine' }]);
    world.plan('p', { tickets: { a: {} } });
    await world.invoke(['run', 'p'], ENV).ended;
    expect(envOf(world, 'build')).toMatchObject({ ANTHROPIC_API_KEY: ENV.ANTHROPIC_API_KEY });
    expect(envOf(world, 'build')).not.toHaveProperty('GH_TOKEN');
  });

  it.concurrent('a secret that is printed is in no event, no ticket and no log', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', `echo "the token is ${SECRET}"; echo "oops ${SECRET}" >&2`);
    world.script(
      'leak.sh',
      `echo "${SECRET}"; echo "leaked ${SECRET}" >&2; [ "$SIGNALBOX_PHASE" = leak ] || exit 3`,
    );
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'x', onSuccess: 'leak' },
      { id: 'leak', type: 'script', command: 'leak.sh', capture: { said: 'stdout' }, onSuccess: 'fails' },
      { id: 'fails', type: 'script', command: 'leak.sh' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const run = await world.invoke(['run', 'p', '--verbose'], ENV).ended;
    expect(run.code).toBe(1);
    const ticket = world.ticket('p', 'a');
    expect(ticket.error).toContain('leaked [redacted]');
    expect(ticket.context.said).toBe('[redacted]');
    const logs = await world.invoke(['logs', 'p', 'a'], ENV).ended;
    expect(logs.out).toContain('the token is [redacted]');
    const json = await world.invoke(['logs', 'p', 'a', '--json'], ENV).ended;
    const status = await world.invoke(['status', '--plan', 'p', '--json'], ENV).ended;
    const kept = [JSON.stringify(ticket), JSON.stringify(world.events('p'))];
    for (const text of [run.out, run.err, logs.out, json.out, status.out, ...kept])
      expect(text).not.toContain(SECRET);
  });

  it.concurrent('what an entry of the settings gives an agent is nowhere either, unless it is ordinary', async ({
    world,
  }) => {
    const env = {
      MYKEY: 'leak-of-words',
      OPENAIKEY: 'leak-more-words',
      MY_PIN: 'leak-pin',
      DSN: 'leak-dsn',
      WEBHOOK_URL: 'https://hooks.example.com/leak',
      NOTE: 'leak9x8y7z6w',
      MODE: 'workspace-write',
    };
    const all = Object.keys(env).map((name) => `$${name}`);
    world.agent('agent', `echo "${all.join(' ')}"; echo "${all.join(' ')}" >&2; exit 1`, { env });
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'x' }]);
    world.plan('p', { tickets: { a: {} } });
    const run = await world.cli('run', 'p', '--verbose');
    const logs = await world.cli('logs', 'p', 'a');
    const kept = [JSON.stringify(world.ticket('p', 'a')), JSON.stringify(world.events('p'))];
    for (const text of [run.out, run.err, logs.out, ...kept]) expect(text).not.toContain('leak');
    for (const text of [run.out, logs.out]) expect(text).toContain('[redacted] workspace-write');
  });

  it.concurrent('a secret of several lines is in no log, line by line', { tags: 'full' }, async ({
    world,
  }) => {
    const given = { MULTI_SECRET: 'line-one\nline-two-secret' };
    world.agent('agent', 'echo "$MULTI_SECRET"; echo "$MULTI_SECRET" >&2', { envAllow: ['MULTI_SECRET'] });
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'x' }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.invoke(['run', 'p'], given).ended).code).toBe(0);
    for (const env of [given, {}])
      for (const more of [[], ['--json']]) {
        const { out } = await world.invoke(['logs', 'p', 'a', ...more], env).ended;
        expect(out.split('[redacted]')).toHaveLength(5);
        expect(out).not.toMatch(/line-(?:one|two)/);
      }
  });

  it.concurrent('logs hide what a job was given from a shell that has none of it', async ({ world }) => {
    const key = Buffer.from('not a real key, only long enough to look like one '.repeat(4)).toString(
      'base64',
    );
    const lines = key.match(/.{1,64}/g) ?? [];
    const given = {
      AWS_SECRET_ACCESS_KEY: '/bPxRfiCYzzEXAMPLEKEY',
      DB_PASSWORD: 'swordfishes',
      MY_TOKEN: '4711081547110815',
      DEPLOY_KEY: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----'].join(
        '\n',
      ),
    };
    const all = Object.keys(given).map((name) => `echo "$${name}"; echo "<$${name}>" >&2`);
    world.script('leak.sh', `${all.join('; ')}; echo "plain words"`);
    world.workflow('work', [{ id: 'leak', type: 'script', command: 'leak.sh' }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.invoke(['run', 'p'], given).ended).code).toBe(0);
    for (const more of [[], ['--json']]) {
      const { out } = await world.cli('logs', 'p', 'a', ...more);
      expect(out).toContain('plain words');
      expect(out).toContain('<[redacted]');
      for (const value of Object.values(given).flatMap((each) => each.split('\n')))
        expect(out).not.toContain(value);
    }
    const kept = world.read('home/state/fingerprints.json');
    for (const value of [...Object.values(given), ...lines]) expect(kept).not.toContain(value);
  });
});
