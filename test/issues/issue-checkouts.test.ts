import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { placeItems } from '../../src/issues/find-issue-checkouts.ts';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench } from '../workspaces/helpers.ts';
import { workItem } from './scratch.ts';

it('a shortage is reported as one, not as a checkout to be named in the settings', async () => {
  const { root, repo, env } = bench();
  const program = join(root, 'git');
  const fail = 'echo "fatal: cannot fork() for remote: Resource temporarily unavailable" >&2; exit 128';
  writeFileSync(program, `#!/bin/sh\n[ "$1" != remote ] || { ${fail}; }\nexec git "$@"\n`, { mode: 0o755 });
  const checkouts = { workspaces: createWorkspaces({ env, git: program }), repos: {} };
  await expect(placeItems(checkouts, repo, [workItem('task:x')])).rejects.toThrow(
    /Resource temporarily unavailable/,
  );
});
