import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { compareVersions } from '../../src/agents/program-versions.ts';
import { INSTALL_COMMANDS } from '../../src/config/doctor/check-programs.ts';
import { ACCESS } from '../../src/model/agent-and-adapter-types.ts';
import { PINNED, releaseOf } from '../../tools/agents/pinned.mjs';
import { CLIS } from '../contract/clis.ts';

const programs = Object.entries(ADAPTERS).flatMap(([name, { program }]) =>
  program ? [{ name, program }] : [],
);

describe('programs', () => {
  it('are found under the name that their package had before', () => {
    expect(releaseOf('pi').package).toBe('@earendil-works/pi-coding-agent');
    expect(releaseOf('pi@0.74.0').package).toBe('@earendil-works/pi-coding-agent');
    const former = releaseOf('pi@0.9.3');
    expect(former).toMatchObject({ package: '@mariozechner/pi-coding-agent', version: '0.9.3' });
    expect(former.package).toBe(ADAPTERS.pi?.program?.formerPackage);
  });

  it('are all under the contract, in the versions that are claimed', () => {
    expect(programs.map(({ name }) => name)).toEqual(Object.keys(PINNED));
    expect(CLIS.map(({ name }) => name)).toEqual(Object.keys(PINNED));
    for (const { name, program } of programs) {
      expect(program.package, name).toBe(PINNED[name]?.package);
      expect(program.tested, name).toContain(PINNED[name]?.version);
      expect(compareVersions(program.minimum, program.tested[0]), name).toBeLessThanOrEqual(0);
      expect(INSTALL_COMMANDS[name], name).toBe(`npm install -g ${program.package}`);
    }
  });

  it('tell of themselves what the contract shows', () => {
    for (const cli of CLIS) {
      const adapter = ADAPTERS[cli.name];
      expect(adapter?.program?.reportsCost, cli.name).toBe(cli.cost !== null);
      expect(adapter?.capabilities.maxTurns, cli.name).toBe(cli.maxTurns);
      expect(adapter?.capabilities.effort, cli.name).toBe(cli.effort !== null);
      expect(Object.keys(adapter?.program?.access ?? {}), cli.name).toEqual(ACCESS);
    }
  });
});
