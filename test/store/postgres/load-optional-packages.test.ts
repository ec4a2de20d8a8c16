import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { InputError } from '../../../src/model/errors.ts';
import { findPeer, installPackagesCommand } from '../../../src/store/postgres/load-optional-packages.ts';
import { peerProblems } from '../../../src/store/postgres/open-postgres.ts';
import { scratch } from '../scratch.ts';

const PACKAGES = `'pg@^8.23.1' 'pg-boss@~12.35.0'`;

/** A place where Signalbox is installed, and what is beside it. */
function installed(isProject: boolean, beside: Record<string, string> = {}): string {
  const root = scratch();
  const modules = join(root, 'node_modules');
  mkdirSync(join(modules, 'signalbox'), { recursive: true });
  if (isProject) writeFileSync(join(root, 'package.json'), '{}');
  for (const [name, version] of Object.entries(beside)) {
    mkdirSync(join(modules, name));
    // As in pg 8.16.0, which does not export its package.json.
    const description = { name, version, exports: { '.': './index.js' } };
    writeFileSync(join(modules, name, 'package.json'), JSON.stringify(description));
    writeFileSync(join(modules, name, 'index.js'), '');
  }
  return join(modules, 'signalbox');
}

it('names the command that installs what is missing, for every kind of installation', () => {
  const globally = installed(false);
  expect(findPeer('pg', globally)).toMatchObject({
    code: 'store/packages',
    message: 'A store in PostgreSQL needs the package pg.',
    hint: `Install it: npm install --global ${PACKAGES}`,
  });
  const project = installed(true);
  expect(installPackagesCommand(project)).toBe(
    `npm install --prefix ${project.replace('/node_modules/signalbox', '')} ${PACKAGES}`,
  );
  expect(installPackagesCommand('/src/signalbox')).toBe(`npm install --prefix /src/signalbox ${PACKAGES}`);
});

it('takes the versions that were tested, and no others', () => {
  const place = installed(false, { pg: '8.23.1', 'pg-boss': '12.38.0' });
  expect(findPeer('pg', place)).toBe(join(place, '..', 'pg', 'index.js'));
  expect(peerProblems(place)).toHaveLength(1);
  const refused = findPeer('pg-boss', place);
  expect(refused).toBeInstanceOf(InputError);
  expect(refused).toMatchObject({
    message: 'pg-boss 12.38.0 is installed, and Signalbox was tested with ~12.35.0.',
    hint: `Install it: npm install --global ${PACKAGES}`,
  });
  for (const version of ['8.16.0', '9.0.0'])
    expect(findPeer('pg', installed(false, { pg: version }))).toBeInstanceOf(InputError);
});

it('finds the ones that this repository has', () => {
  expect(findPeer('pg', process.cwd())).toContain('node_modules/pg/');
  expect(findPeer('pg-boss', process.cwd())).toContain('node_modules/pg-boss/');
});
