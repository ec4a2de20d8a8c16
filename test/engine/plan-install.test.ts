import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, type World } from '../support/index.ts';

/** A Node project with one dependency, and an npm that installs it as `npm ci` would. */
function nodeProject(world: World): NodeJS.ProcessEnv {
  const files = {
    'package.json': '{"scripts":{"test":"node_modules/.bin/tester"},"dependencies":{"tester":"1.0.0"}}',
    'package-lock.json': '{"lockfileVersion":3,"packages":{"node_modules/tester":{"version":"1.0.0"}}}',
    '.gitignore': 'node_modules\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(world.repo, name), text);
  git(world.repo, 'add', '--all');
  git(world.repo, 'commit', '--quiet', '--message=Project');
  const bin = join(world.dir, 'managers');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh
echo "npm $*" >> ${world.dir}/npm-calls
case $1 in
  ci) mkdir -p node_modules/.bin && printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/tester && chmod +x node_modules/.bin/tester ;;
  run) exec /bin/sh -c 'node_modules/.bin/tester' ;;
esac
`,
  );
  chmodSync(join(bin, 'npm'), 0o755);
  return { PATH: `${bin}:${world.env.PATH}` };
}

describe('a Node project in a plan', () => {
  it('gets its packages, so that its checks pass out of the box', async ({ world }) => {
    const env = nodeProject(world);
    world.workflow('work', [{ id: 'verify', type: 'action', action: 'checks' }]);
    world.plan('p', { tickets: { a: {} } });
    const { code, out, err } = await world.invoke(['run', 'p'], env).ended;
    expect(code, out + err).toBe(0);
    expect(world.read('npm-calls')).toBe('npm ci --no-audit --no-fund\nnpm run test\n');
    expect(out.match(/p: a: installing packages \(npm ci --no-audit --no-fund\)/g)).toHaveLength(1);
  });

  it('that cannot be installed says why in its lines, and `status` what was printed', async ({ world }) => {
    const env = nodeProject(world);
    const printed = 'npm error 404 No match for tester\nnpm notice New version of npm available';
    writeFileSync(join(world.dir, 'managers', 'npm'), `#!/bin/sh\necho '${printed}'\nexit 1\n`);
    world.workflow('work', [{ id: 'verify', type: 'action', action: 'checks' }]);
    world.plan('p', { tickets: { a: {} } });
    const { out, err } = await world.invoke(['run', 'p'], env).ended;
    expect(out + err).toContain('exit code 1: npm error 404 No match for tester.');
    expect(out + err).not.toContain('npm notice');
    expect((await world.cli('status', 'p')).out).toContain('npm notice New version');
  });

  it('gets none where the plan says so', async ({ world }) => {
    const env = nodeProject(world);
    world.script('pass.sh', 'true');
    world.workflow('work', [{ id: 'verify', type: 'script', command: 'pass.sh' }]);
    world.plan('p', { install: false, tickets: { a: {} } });
    expect((await world.invoke(['run', 'p'], env).ended).code).toBe(0);
    expect(world.exists('npm-calls')).toBe(false);
  });
});
