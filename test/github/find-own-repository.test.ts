import { describe, expect, it } from 'vitest';
import { ownRepository } from '../../src/github/find-own-repository.ts';
import { parseRemote, repositoryText } from '../../src/github/gh/repository-name.ts';
import { fetchItems } from '../../src/issues/fetch-work-items.ts';
import { checkout, scratch } from '../issues/scratch.ts';
import { git } from '../support/repo.ts';

describe('parseRemote', () => {
  it.each([
    ['https://github.com/acme/web.git', 'acme/web'],
    ['https://github.com/acme/web/', 'acme/web'],
    ['https://user:token@github.com/acme/web', 'acme/web'],
    ['git@github.com:acme/web.git', 'acme/web'],
    ['ssh://git@github.com/acme/web.git', 'acme/web'],
    ['ssh://git@ssh.github.com:443/acme/web.git', 'acme/web'],
    ['git://github.com/acme/web', 'acme/web'],
    ['git@GHE.example.com:acme/web.git', 'ghe.example.com/acme/web'],
    ['https://ghe.example.com:8443/acme/web.js', 'ghe.example.com:8443/acme/web.js'],
    ['work:acme/web.git', 'work/acme/web'],
  ])('reads %s', (url, wanted) => {
    const repository = parseRemote(url);
    expect(repository && repositoryText(repository)).toBe(wanted);
  });

  it.each([
    '/srv/git/web.git',
    '../web.git',
    'file:///srv/web.git',
    'https://gitlab.com/a/b/c',
    'https://github.com/acme',
    'git@github.com:../x',
    '',
  ])('gives nothing for %j', (url) => expect(parseRemote(url)).toBeUndefined());
});

describe('the repository of a plain number', () => {
  it('is origin, without asking gh', async () => {
    const { fake, options } = checkout('git@github.com:acme/web.git');
    expect(await ownRepository(options)).toEqual({ host: 'github.com', owner: 'acme', name: 'web' });
    expect(fake.calls()).toEqual([]);
  });

  it('is origin with the rewriting of addresses that git does', async () => {
    const { dir, options } = checkout('gh:acme/web');
    git(dir, 'config', 'url.https://github.com/.insteadOf', 'gh:');
    expect(await ownRepository(options)).toMatchObject({ host: 'github.com', name: 'web' });
  });

  it('is what gh was told to take by default', async () => {
    const { dir, options } = checkout('https://github.com/me/web.git');
    git(dir, 'remote', 'add', 'upstream', 'https://github.com/acme/web.git');
    git(dir, 'config', 'remote.upstream.gh-resolved', 'base');
    expect(await ownRepository(options)).toMatchObject({ owner: 'acme' });
    git(dir, 'config', '--unset', 'remote.upstream.gh-resolved');
    git(dir, 'config', 'remote.origin.gh-resolved', 'other/fork');
    expect(await ownRepository(options)).toMatchObject({ owner: 'other', name: 'fork' });
    const env = { ...options.env, GH_REPO: 'ghe.example.com/a/b' };
    expect(await ownRepository({ ...options, env })).toEqual({
      host: 'ghe.example.com',
      owner: 'a',
      name: 'b',
    });
  });

  it('is asked of gh, once, when the remote does not tell', async () => {
    const { fake, options } = checkout('/srv/git/web.git');
    fake.issues({ number: 1, title: 'One' }, { number: 2, title: 'Two' });
    const { items, problems } = await fetchItems(['1', '2', 'acme/web#2'], options);
    expect(problems).toEqual([]);
    expect(items.map(({ key, id }) => [key, id])).toEqual([
      ['github:acme/web#1', '1'],
      ['github:acme/web#2', '2'],
    ]);
    expect(fake.calls('repo view')).toHaveLength(1);
    expect(fake.calls()).toHaveLength(2);
  });

  it('on an Enterprise host is asked for there', async () => {
    const { fake, options } = checkout('git@ghe.example.com:acme/web.git');
    fake.issues({ number: 1, title: 'One', body: 'Depends on: acme/api#2' });
    const { items } = await fetchItems(['1'], options);
    expect(items[0]).toMatchObject({
      key: 'github:ghe.example.com/acme/web#1',
      id: '1',
      repository: 'ghe.example.com/acme/web',
      dependsOn: ['github:ghe.example.com/acme/api#2'],
    });
    expect(fake.calls()[0]?.argv).toEqual(expect.arrayContaining(['--hostname', 'ghe.example.com']));
  });

  it.each([
    ['no git repository', undefined, 'is not in a git repository'],
    ['another forge', 'git@gitlab.com:acme/web.git', 'is on gitlab.com, which is not GitHub'],
    ['no remote that gh knows', '/srv/git/web.git', 'has no remote on GitHub'],
  ])('is refused with the way out when there is %s', async (_, remote, message) => {
    const { fake, options } = checkout(remote);
    fake.fail({ call: 'repo view', stderr: 'no git remotes found\n' });
    const cwd = remote === undefined ? scratch() : options.cwd;
    const { problems } = await fetchItems(['1'], { ...options, cwd });
    expect(problems[0]?.message).toContain(message);
    expect(problems[0]?.hint).toContain('owner/repo#12');
  });

  it('is refused without any remote for that reason, also where gh is not logged in or missing', async () => {
    const { fake, options } = checkout('/srv/git/web.git');
    fake.fail({ call: 'repo view', times: null, stderr: 'To get started, please run: gh auth login\n' });
    expect((await fetchItems(['1'], options)).problems[0]?.message).toContain('not logged in');
    git(options.cwd, 'remote', 'remove', 'origin');
    for (const gh of [options.gh, '/nowhere/gh'])
      expect((await fetchItems(['1'], { ...options, gh })).problems[0]?.message).toContain(
        'has no remote on GitHub',
      );
  });
});
