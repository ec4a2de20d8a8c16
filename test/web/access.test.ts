import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect } from 'vitest';
import { replaceToken, tokenFile } from '../../src/web/token-and-sessions.ts';
import { it, type World, waitFor } from '../support/index.ts';
import { type Asked, Stream, TestSite } from './site.ts';

async function opened(world: World, options: Parameters<typeof TestSite.open>[1] = {}): Promise<TestSite> {
  world.workflow('work', [
    { id: 'ask', type: 'gate', prompt: 'Go on?', on: { approve: 'done', reject: 'done' } },
    { id: 'done', type: 'terminal' },
  ]);
  world.plan('p', { tickets: { a: {} } });
  return TestSite.open(world, options);
}

const codeOf = (answer: { json<T>(): T }) => answer.json<{ error: { code: string } }>().error.code;

describe.concurrent('the token', () => {
  it('is in the home for its owner alone, and survives a restart', async ({ world }) => {
    const site = await opened(world);
    const file = tokenFile(world.home);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8').trim()).toBe(site.token);
    await site.close();
    const again = await TestSite.open(world, { port: site.server.port });
    expect(again.token).toBe(site.token);
    // The session, too.
    expect((await again.send('/api/v1/session', { headers: { cookie: site.cookie } })).status).toBe(200);
    await again.close();
  });

  it('is replaced where others could read it', async ({ world }) => {
    const site = await opened(world);
    chmodSync(tokenFile(world.home), 0o644);
    expect((await site.send('/api/v1/session')).status).toBe(401);
    expect(statSync(tokenFile(world.home)).mode & 0o777).toBe(0o600);
    expect(readFileSync(tokenFile(world.home), 'utf8').trim()).not.toBe(site.token);
    await site.close();
  });

  it('opens a session and leaves the address at once', async ({ world }) => {
    const site = await opened(world);
    const first = await site.send(`/plans/p?token=${site.token}&x=1`, { headers: { cookie: '' } });
    expect(first).toMatchObject({ status: 303, headers: { location: '/plans/p?x=1' } });
    const cookie = String(first.headers['set-cookie']);
    expect(cookie).toMatch(
      new RegExp(`^signalbox_${site.server.port}=[\\w.-]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=\\d+$`),
    );
    expect(cookie).not.toContain(site.token);
    expect(first.headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
    await site.close();
  });

  it('never sends a browser to another host', async ({ world }) => {
    const site = await opened(world);
    for (const path of ['//evil.test/', '/\\evil.test/', '/%2f/evil.test/']) {
      const { headers, status } = await site.send(`${path}?token=${site.token}`);
      if (status === 303) expect(String(headers.location)).toMatch(/^\/(?![/\\])/);
    }
    await site.close();
  });

  it('opens nothing if it is wrong', async ({ world }) => {
    const site = await opened(world);
    for (const token of ['', 'x', `${site.token}x`, site.token.slice(1), 'é'.repeat(43)]) {
      const answer = await site.send(`/?token=${encodeURIComponent(token)}`, { headers: { cookie: '' } });
      expect(answer.status).toBe(403);
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
    const login = await site.post('/session', { token: 'wrong' }, { cookie: '' });
    expect([login.status, codeOf(login)]).toEqual([401, 'web/token']);
    const typed = await site.post('/session', { token: site.token }, { cookie: '' });
    expect(typed.status).toBe(200);
    expect(typed.headers['set-cookie']).toBeDefined();
    await site.close();
  });

  it('that is new ends all sessions and streams', async ({ world }) => {
    const site = await opened(world);
    const stream = new Stream(site);
    await stream.next('snapshot');
    replaceToken(world.home);
    expect(codeOf(await site.send('/api/v1/session'))).toBe('web/session');
    await waitFor('the end of the stream', () => stream.ended);
    await site.close();
  });

  it('is also taken from a header, for scripts', async ({ world }) => {
    const site = await opened(world);
    const by = (token: string) =>
      site.send('/api/v1/session', { headers: { cookie: '', authorization: `Bearer ${token}` } });
    expect((await by(site.token)).status).toBe(200);
    expect((await by('wrong')).status).toBe(401);
    await site.close();
  });
});

describe.concurrent('a request is refused', () => {
  it('without a session, or with a forged one', async ({ world }) => {
    const site = await opened(world);
    const [name, value = ''] = site.cookie.split('=');
    const [id, at, signature] = value.split('.');
    for (const cookie of [
      '',
      `${name}=`,
      `${name}=x`,
      `${name}=${id}.${at}`,
      `${name}=${id}.zzzzzz.${signature}`,
      `${name}=${id}x.${at}.${signature}`,
      `signalbox_1=${value}`,
    ])
      expect((await site.send('/api/v1/status', { headers: { cookie } })).status, cookie).toBe(401);
    // A page on another port can set a cookie of our name beside ours.
    const cookie = `${name}=evil; ${site.cookie}`;
    expect((await site.send('/api/v1/status', { headers: { cookie } })).status).toBe(200);
    await site.close();
  });

  it('under another name of this machine (DNS rebinding), for the page, too', async ({ world }) => {
    const site = await opened(world);
    const { port } = site.server;
    for (const host of [
      `evil.test:${port}`,
      'evil.test',
      `127.0.0.1.evil.test:${port}`,
      `localhost.:${port}`,
      '',
    ])
      for (const path of ['/', '/app.js', '/api/v1/session', `/?token=${site.token}`]) {
        if (host === '') continue;
        const answer = await site.send(path, { headers: { host } });
        expect([answer.status, codeOf(answer)], `${host}${path}`).toEqual([403, 'web/host']);
        expect(answer.headers['set-cookie']).toBeUndefined();
      }
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, 'localhost:9000'])
      expect((await site.send('/api/v1/session', { headers: { host } })).status).toBe(200);
    await site.close();
  });

  it('and accepted under web.publicUrl, with the origin and the cookie of HTTPS', { tags: 'full' }, async ({
    world,
  }) => {
    world.config({ web: { publicUrl: 'https://signalbox.example.org/' } });
    const site = await opened(world);
    const [host, origin] = ['signalbox.example.org', 'https://signalbox.example.org'];
    const first = await site.send(`/?token=${site.token}`, { headers: { host, cookie: '' } });
    expect([first.status, first.headers.location]).toEqual([303, '/']);
    expect(String(first.headers['set-cookie'])).toMatch(/; HttpOnly; SameSite=Strict; .*; Secure$/);
    const path = '/plans/p/tickets/a/pause';
    for (const wrong of [`http://${host}`, `http://${site.host}`, `${origin}:8443`])
      expect((await site.post(path, {}, { host, origin: wrong })).status, wrong).toBe(403);
    expect((await site.post(path, {}, { origin })).status).toBe(403);
    expect((await site.send('/', { headers: { host: `evil.${host}` } })).status).toBe(403);
    expect((await site.post(path, {}, { host, origin })).status).toBe(200);
    // Proxies may add the port that browsers leave out.
    expect((await site.post('/plans/p/tickets/a/resume', {}, { host: `${host}:443`, origin })).status).toBe(
      200,
    );
    for (const port of [80, 8443])
      expect((await site.send('/', { headers: { host: `${host}:${port}` } })).status).toBe(403);
    await site.close();
  });

  it('if it changes something and lacks our origin, type or header', async ({ world }) => {
    const site = await opened(world);
    const path = '/plans/p/tickets/a/pause';
    const { port } = site.server;
    const refused: Record<string, string>[] = [
      { origin: 'https://evil.test' },
      { origin: `http://127.0.0.1:${port + 1}` },
      { origin: `http://localhost:${port}` },
      { origin: `https://127.0.0.1:${port}` },
      { origin: 'null' },
      { origin: '' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json, text/plain' },
      { 'content-type': '' },
      { 'x-signalbox': '' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of refused) {
      const answer = await site.post(path, {}, headers);
      expect([answer.status, codeOf(answer)], JSON.stringify(headers)).toEqual([403, 'web/origin']);
    }
    expect(world.ticket('p', 'a').status).toBe('queued');
    expect((await site.post(path, {}, { 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    expect(world.ticket('p', 'a').status).toBe('paused');
    await site.close();
  });

  it('if another page reads', async ({ world }) => {
    const site = await opened(world);
    const asked: Asked[] = [
      { headers: { 'sec-fetch-site': 'cross-site' } },
      { headers: { 'sec-fetch-site': 'same-site' } },
      { headers: { origin: 'http://localhost:3000' } },
    ];
    for (const each of asked)
      for (const path of ['/api/v1/status', '/api/v1/live'])
        expect((await site.send(path, each)).status).toBe(403);
    const answer = await site.send('/api/v1/status', { method: 'OPTIONS' });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    await site.close();
  });

  it('that changes something while the page is read-only', async ({ world }) => {
    const site = await opened(world, { readOnly: true });
    for (const path of ['/plans/p/tickets/a/pause', '/plans/p/cancel', '/plans/p/tickets/a/respond']) {
      const answer = await site.post(path, {});
      expect([answer.status, codeOf(answer)]).toEqual([403, 'web/read-only']);
    }
    expect(await site.get('/session')).toMatchObject({ readOnly: true });
    await site.close();
  });

  it('if it is too large, no JSON, or unknown', async ({ world }) => {
    const site = await opened(world);
    const path = '/plans/p/tickets/a/pause';
    expect((await site.post(path, { by: 'x'.repeat(100_000) })).status).toBe(413);
    expect((await site.post(path, '{')).status).toBe(400);
    expect((await site.post(path, { surprise: 1 })).status).toBe(400);
    expect((await site.post(path, [])).status).toBe(400);
    expect((await site.send('/api/v1/plans/p/tickets/a/pause')).status).toBe(405);
    expect((await site.send('/api/v1/nothing')).status).toBe(404);
    expect((await site.send(`/api/v1/${'x'.repeat(5000)}`)).status).toBe(400);
    expect((await site.send(`/api/v1/${'x'.repeat(20_000)}`)).status).toBe(431);
    expect((await site.send('/', { method: 'PUT' })).status).toBe(405);
    // The stream of changes would never end, and keep one of the places.
    expect((await site.send('/api/v1/live', { method: 'HEAD' })).status).toBe(405);
    expect(site.errors).toEqual([]);
    await site.close();
  });

  it('if it is no HTTP', async ({ world }) => {
    const site = await opened(world);
    const socket = connect(site.server.port, '127.0.0.1');
    socket.write('\x16\x03\x01 no http\r\n\r\n');
    const ended = await new Promise((resolve) => socket.on('close', () => resolve(true)));
    expect(ended).toBe(true);
    expect(await site.get('/session')).toMatchObject({ user: 'ada' });
    await site.close();
  });
});

describe.concurrent('every answer', () => {
  it('forbids frames, foreign scripts, guessing of types and referrers', async ({ world }) => {
    const site = await opened(world);
    for (const path of ['/', '/plans/p/tickets/a', '/api/v1/session', '/api/v1/nothing', '/nothing.js']) {
      const { headers } = await site.send(path);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
    }
    await site.close();
  });

  it('leaves HTML of agents as data', async ({ world }) => {
    const title = '<script>alert(1)</script><img src=x onerror=alert(2)>';
    world.plan('h', { name: title, tickets: { a: { title, description: title } } });
    const site = await opened(world);
    for (const path of ['/status', '/board', '/plans', '/plans/h', '/plans/h/tickets/a', `/plans/${title}`]) {
      const answer = await site.send(`/api/v1${encodeURI(path)}`);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    }
    expect((await site.send('/')).text).not.toContain('alert');
    await site.close();
  });

  it('has files of the page only', async ({ world }) => {
    const site = await opened(world);
    writeFileSync(`${world.dir}/secret.js`, 'secret');
    for (const path of [
      '/../secret.js',
      '/..%2fsecret.js',
      '/%2e%2e/package.json',
      '/package.json',
      '/....//secret.js',
    ]) {
      const { text } = await site.send(path);
      expect(text).not.toContain('secret');
      expect(text).not.toContain('"version"');
    }
    await site.close();
  });
});
