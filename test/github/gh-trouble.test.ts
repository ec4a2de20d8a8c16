import { describe, expect } from 'vitest';
import { temporaryTroubleOf } from '../../src/features/pull-requests/temporary-and-final-errors.ts';
import { GhError, ghProblem } from '../../src/github/gh/run-gh.ts';
import { RateLimitFile } from '../../src/github/remember-rate-limit.ts';
import { WorkspaceError } from '../../src/model/errors.ts';
import { Bench } from '../features/pull-requests/bench.ts';
import { it } from '../support/index.ts';

const git = (stderr: string) => new WorkspaceError('workspace/push', 'It failed.', { details: { stderr } });

it('that says nothing is reported in a whole sentence, before its hint', () => {
  const silent = { code: 1, stdout: '', stderr: '' };
  const repository = { host: 'github.com', owner: 'acme', name: 'web' };
  expect(ghProblem(silent, repository, 'could not read the pull request').message).toBe(
    'The GitHub CLI could not read the pull request: it said nothing.',
  );
});

describe('what is waited out', () => {
  it('is a network that is down and a server that fails, and nothing that waiting does not mend', async ({
    world,
  }) => {
    const parts = await new Bench(world).parts();
    const passing = [
      ...(['network', 'timeout', 'server'] as const).map((failure) => new GhError(failure, 'No.')),
      git('ssh: Could not resolve hostname github.com: Temporary failure in name resolution\n'),
      git("fatal: unable to access 'https://github.com/': Failed to connect to github.com port 443\n"),
    ];
    for (const error of passing) {
      const trouble = await temporaryTroubleOf(parts, error);
      expect(trouble?.reason).toBe(error.message);
      expect(Date.parse(trouble?.until ?? '')).toBeGreaterThan(Date.now() + 30_000);
    }
    const lasting = [
      ...(['auth', 'missing', 'forbidden', 'not-found'] as const).map(
        (failure) => new GhError(failure, 'No.'),
      ),
      git('git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.\n'),
      new Error('something else'),
    ];
    for (const error of lasting) expect(await temporaryTroubleOf(parts, error)).toBeUndefined();
  });

  it('is a limit, until the time that GitHub names, and everybody knows of it then', async ({ world }) => {
    const bench = new Bench(world);
    const parts = await bench.parts();
    const resetAt = '2031-01-01T00:00:00.000Z';
    bench.gh.change((state) => Object.assign(state.rateLimit, { remaining: 0, resetAt }));
    const error = new GhError('rate-limited', 'No.', { details: { host: 'github.com' } });
    expect(await temporaryTroubleOf(parts, error)).toMatchObject({ until: resetAt });
    const book = new RateLimitFile(parts.machine.githubCache);
    expect(book.blockingLimit('github.com', 0, parts.now())).toMatchObject({ remaining: 0, resetAt });
  });
});
