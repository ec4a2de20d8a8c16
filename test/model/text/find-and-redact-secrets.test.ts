import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  lineRedactor,
  REDACTED,
  redactAll,
  redactor,
  secretValues,
} from '../../../src/model/text/find-and-redact-secrets.ts';

const GITHUB = `ghp_${'a1B2'.repeat(9)}`;

describe('which values are secret', () => {
  it.each<[string, Record<string, string>, Record<string, string>, string[]]>([
    ['of a variable that says so', { GH_TOKEN: 'tok-en-12345' }, {}, ['tok-en-12345']],
    ['not too short ones', { GH_TOKEN: 'abc1' }, {}, []],
    [
      'not switches, small numbers, places and addresses',
      {
        API_KEY: 'disabled',
        SSH_AUTH_SOCK: '/tmp/ssh/agent.1',
        TOKEN_FILE: '/run/secrets/token',
        CACHE_KEY: '123456',
        AUTH_URL: 'https://login.example.com/',
        BUILD_PWD: '/home/me/project',
      },
      {},
      [],
    ],
    [
      'whatever they look like',
      {
        AWS_SECRET_ACCESS_KEY: '/bPxRfiCYEXAMPLEKEY',
        DB_PASSWORD: 'swordfish',
        PGPASSWORD: 'tiger-lily',
        MYSQL_PWD: 'catfish',
        MY_TOKEN: '12345678',
        X_SECRET: './dots',
      },
      {},
      ['/bPxRfiCYEXAMPLEKEY', 'swordfish', 'tiger-lily', 'catfish', '12345678', './dots'],
    ],
    [
      'each line of a long one, too',
      { DEPLOY_KEY: '-----BEGIN X KEY-----\nMIIEabcdefghijklmnop\nshort\n' },
      {},
      ['-----BEGIN X KEY-----\nMIIEabcdefghijklmnop\nshort\n', 'MIIEabcdefghijklmnop'],
    ],
    [
      'each line that would be one by itself',
      { MULTI_SECRET: 'line-one\r\n  catfish \nabc\n123456\ndefault' },
      {},
      ['line-one\r\n  catfish \nabc\n123456\ndefault', 'line-one', 'catfish'],
    ],
    ['of an address', { REGISTRY: 'https://me:hunter22@host/' }, {}, ['hunter22']],
    ['of a login by host name', { BUNDLE_GITHUB__COM: 'me:hunter22' }, {}, ['me:hunter22']],
    ['not of other variables', { PATH: 'abcdefgh12345678', HOME: '/home/someone' }, {}, []],
    [
      'of a config, what looks like a key',
      {},
      { EXTRA: 'abcdefgh12345678', MODE: 'fast', AT: '/opt/abcdefgh12345678' },
      ['abcdefgh12345678'],
    ],
    ['of a config, by its name', {}, { X_SECRET: 'hunter2-hunter2' }, ['hunter2-hunter2']],
    [
      'of names without an underscore, and of pins, sources and hooks',
      {
        MYKEY: 'swordfish',
        OPENAIKEY: 'catfish',
        MY_PIN: '93471208',
        DSN: 'dsn-of-mine',
        SLACK_WEBHOOK_URL: 'https://hooks.example.com/T0/B0/x',
        HOOK_WEBHOOK: 'plain-hook',
      },
      {},
      ['swordfish', 'catfish', '93471208', 'dsn-of-mine', 'https://hooks.example.com/T0/B0/x', 'plain-hook'],
    ],
    [
      'not of names that only sound like it',
      {
        MONKEY: 'gibbon-gibbon',
        SSH_PUBKEY: 'ssh-ed25519',
        WEBHOOK_EVENTS: 'pull_request',
        WEBHOOK_URL: 'https://example.com/',
        SPIN: 'forever',
        PINNED: 'versions',
      },
      {},
      [],
    ],
    ['of a config, what nobody would write as a word', {}, { NOTE: 'zX9-qL2m-Pw77t' }, ['zX9-qL2m-Pw77t']],
    ['of short names for passwords', {}, { MYPW: 'swordfish', DB_PW: 'catfish' }, ['swordfish', 'catfish']],
  ])('%s', (_, env, configured, values) => {
    expect(secretValues(env, [configured])).toEqual(values);
  });
});

/** Settings as people write them: none of these words may vanish from a log. */
const WORDS =
  'stream json workspace write danger full access utf8 en US east v2 read only mode Debug maxTokens';

describe('a value of a config whose name says nothing', () => {
  const secret = (value: string) => secretValues({}, [{ NOTE: value }]).includes(value);

  it.each([
    'workspace-write',
    'danger-full-access',
    'application/json;charset=utf-8',
    'claude-sonnet-4-5-20250929',
    'anthropic/claude-3-5-haiku-20241022',
    'us.anthropic.claude-opus-4-1-20250805-v1:0',
    'qwen2.5-coder-32b-instruct',
    'text-embedding-3-small',
    'src/model/redact.test.ts',
    '~/bin/my-agent-1x2y3z4w5',
    './scripts/x1y2z3w4.sh',
    'https://proxy.example.com:8080/v1/x1y2',
    'http://localhost:11434/api',
    '2026-03-01T12:00:00Z',
    '123456789012',
    '--max-old-space-size=4096',
    'push,pull_request,issue_comment',
    'me@example.com',
    'maxOutputTokens',
    'HTTPServerName',
    'CLAUDE_CODE_MAX',
    'implementation',
    'Größenordnung',
    'Do what x1y2z3 says, please.',
  ])('is shown where anybody may read it: %s', (value) => {
    expect(secret(value)).toBe(false);
  });

  it.each([
    'hunter2hunter2',
    'zX9qL2mPw77t',
    'k3y-4h7f9-zz81q',
    '3f2b8c1e-9d47-4a60-8e15-0c9b7a6d5f43',
    'p@ssw0rd!p@ss',
    'user:sw0rdfish1234',
    'https://host/x?access_token=abcdef',
    'qwertyuiopasdfghjklzxcvb',
  ])('is hidden where it is none of these: %s', (value) => {
    expect(secret(value)).toBe(true);
  });

  it('is shown whatever ordinary words it is put together from', () => {
    const word = fc.constantFrom(...WORDS.split(' '));
    const sign = fc.constantFrom('-', '_', '.', '/', ':', ',', '=');
    const parts = fc.array(fc.tuple(word, sign), { minLength: 1, maxLength: 8 });
    fc.assert(fc.property(parts, (given) => !secret(given.flat().join('').slice(0, -1))));
  });

  it('is hidden whatever letters and digits it is mixed from', () => {
    const pair = fc.tuple(fc.stringMatching(/^[a-zA-Z]{1,4}$/), fc.stringMatching(/^\d{1,3}$/));
    const mixed = fc.array(pair, { minLength: 3, maxLength: 9 }).map((each) => each.flat().join(''));
    fc.assert(fc.property(mixed, (value) => value.length < 12 || secret(value)));
  });
});

describe('redacting', () => {
  it('finds a secret as it stands in JSON', () => {
    const secret = 'pa"ss\\wo\tré';
    const clean = redactor([secret]);
    const once = JSON.stringify({ key: secret });
    expect(JSON.parse(clean(once))).toEqual({ key: REDACTED });
    expect(JSON.parse(JSON.parse(clean(JSON.stringify(once))))).toEqual({ key: REDACTED });
    expect(JSON.parse(clean(once.replace('é', '\\u00e9')))).toEqual({ key: REDACTED });
  });

  it.each<[string, string, string]>([
    ['a known secret', 'key=s3cr3t-value.', `key=${REDACTED}.`],
    ['more than once', 's3cr3t-value s3cr3t-value', `${REDACTED} ${REDACTED}`],
    ['the longer of two', 's3cr3t-value-long', REDACTED],
    ['what has the form of a key', `token ${GITHUB} there`, `token ${REDACTED} there`],
    [
      'nothing else',
      'sk-short risk-averse-and-long-enough-words',
      'sk-short risk-averse-and-long-enough-words',
    ],
  ])('%s', (_, text, clean) => {
    expect(redactor(['s3cr3t-value', 's3cr3t-value-long'])(text)).toBe(clean);
  });

  it.each([
    `npm_${'a1B2'.repeat(9)}`,
    `sk_live_${'a1B2'.repeat(6)}`,
    `rk_test_${'a1B2'.repeat(6)}`,
    `AKIA${'A1B2'.repeat(4)}`,
    `ASIA${'A1B2'.repeat(4)}`,
    `pypi-${'AgEIcHlwaS5vcmc'.repeat(3)}`,
    'xapp-1-A0123456789-0123456789-abcdef',
    `hf_${'aBcD'.repeat(8)}`,
    `gsk_${'a1B2'.repeat(12)}`,
    `ya29.${'a0-_'.repeat(10)}`,
  ])('hides what has the form of a well-known token: %s', (token) => {
    expect(redactor([])(`is ${token}, see`)).toBe(`is ${REDACTED}, see`);
    expect(redactor([])(JSON.stringify({ at: token }))).toBe(JSON.stringify({ at: REDACTED }));
  });

  it.each([
    ['git clone https://user:s3cretpw@example.com/a', `git clone https://user:${REDACTED}@example.com/a`],
    ['postgres://:pw@host and redis://u:p%40w@h', `postgres://:${REDACTED}@host and redis://u:${REDACTED}@h`],
    ['https://u:a:b@c', `https://u:${REDACTED}@c`],
    ['"https://a:b@c"', `"https://a:${REDACTED}@c"`],
    ['https://example.com:8080/@scope', 'https://example.com:8080/@scope'],
    ['https://host:80 mail me@example.com', 'https://host:80 mail me@example.com'],
    ['{"a":"http://x:1","b":"me@example.com"}', '{"a":"http://x:1","b":"me@example.com"}'],
    ['ssh://git@host/x', 'ssh://git@host/x'],
    [
      'npm_config_registry npm_lifecycle_event hf_transfer',
      'npm_config_registry npm_lifecycle_event hf_transfer',
    ],
  ])('of an address it hides the password alone: %s', (text, clean) => {
    expect(redactor([])(text)).toBe(clean);
  });

  const KEY = [
    '-----BEGIN RSA PRIVATE KEY-----',
    'Proc-Type: 4,ENCRYPTED',
    '',
    'MIIEowIBAAKCAQEA',
    'qL7+/Q==',
    '-----END RSA PRIVATE KEY-----',
  ];

  it.each(['\n', '\\n'])('takes a private key out of a text with its lines ended by %j', (end) => {
    expect(redactor([])(`a ${KEY.join(end)} b`)).toBe(`a ${REDACTED} b`);
  });

  it('takes a private key out line by line, and nothing that comes after it', () => {
    const clean = ['before', ...KEY, 'after'].map(lineRedactor(redactor([])));
    expect(clean).toEqual(['before', ...Array(KEY.length).fill(REDACTED), 'after']);
    const cut = ['x -----BEGIN PRIVATE KEY-----', 'MIIEow', 'The rest, in words.', 'word'];
    expect(cut.map(lineRedactor(redactor([])))).toEqual([`x ${REDACTED}`, REDACTED, ...cut.slice(2)]);
  });

  it('goes through everything, and leaves what is clean as it is', () => {
    const redact = redactor(['s3cr3t-value']);
    const event = { a: 's3cr3t-value', b: [{ c: 'x s3cr3t-value' }, 1, null], d: { e: 'clean' } };
    expect(redactAll(event, redact)).toEqual({
      a: REDACTED,
      b: [{ c: `x ${REDACTED}` }, 1, null],
      d: { e: 'clean' },
    });
    const clean = { a: [1, { b: 'c' }] };
    expect(redactAll(clean, redact)).toBe(clean);
  });

  it('never lets a secret through, whatever stands around it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        expect(redactor(['s3cr3t-value'])(`${before}s3cr3t-value${after}`)).not.toContain('s3cr3t-value');
      }),
    );
  });
});
