import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { rotateLogs } from '../../../../src/features/issue-runs/logs/read-and-rotate-logs.ts';
import { EXEC_FLAGS, git, IssueWorld, it, writeOldLog } from '../support.ts';

const FEW = { maxSizeMB: 10, maxFiles: 1 };
const nothing = () => false;

describe.concurrent('making room for logs', () => {
  it('deletes no file of the project that is no log, whatever its name', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const reports = join(world.repo, 'reports');
    mkdirSync(reports);
    const names = [
      'run-benchmark.json',
      'run-20200101.json',
      'run-20200101-000000-aaaa.json',
      'run-20200101-000000-aaaa-2.json',
    ];
    for (const name of names) writeFileSync(join(reports, name), '{}');
    writeFileSync(join(reports, 'run-benchmark.json'), ' '.repeat(11_000_000));
    writeOldLog(reports, 'run-20200102-000000-bbbb', { runId: 'run-20200103-000000-bbbb' });
    const old = writeOldLog(reports, 'run-20200104-000000-cccc');
    issues.write('reports/.gitkeep', '');
    const tracked = git(world.repo, 'ls-files', 'reports').trim().split('\n');
    expect(tracked).toHaveLength(7);

    mkdirSync(join(world.repo, '.signalbox'));
    const rules = { run: { logPath: 'reports', rotation: { maxFiles: 1 } } };
    writeFileSync(join(world.repo, '.signalbox', 'settings.json'), JSON.stringify(rules));
    const { code, err } = await issues.cli('run', 'a.md', ...EXEC_FLAGS);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [run] = issues.runs();
    expect(git(world.repo, 'ls-files', '--deleted')).toBe(`reports/${old}`);
    expect(existsSync(join(reports, `${run}.json`))).toBe(true);
  });

  it('leaves links and directories, and stops no run for them', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world, { SIGNALBOX_ROTATION_MAX_FILES: '1' }).write('a.md', '# A\n');
    const logs = join(world.repo, '.signalbox', 'logs');
    mkdirSync(logs, { recursive: true });
    const elsewhere = writeOldLog(world.dir, 'run-20200101-000000-aaaa');
    symlinkSync(join(world.dir, elsewhere), join(logs, elsewhere));
    symlinkSync('nowhere', join(logs, 'run-20200101-000001-aaaa.json'));
    symlinkSync('nowhere', join(logs, 'run-zz.json'));
    mkdirSync(join(logs, 'run-20200101-000002-aaaa.json'));
    mkdirSync(join(logs, 'run-zy.json'));
    const before = readdirSync(logs);
    const old = writeOldLog(logs, 'run-20200101-000003-aaaa');
    const { code, err } = await issues.cli('run', 'a.md', ...EXEC_FLAGS);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [run] = issues.runs();
    expect(readdirSync(logs).sort()).toEqual([...before, `${run}.json`, `${run}.md`].sort());
    expect(readdirSync(logs)).not.toContain(old);
    expect(existsSync(join(world.dir, elsewhere))).toBe(true);
  });

  it('bears that another run makes room at the same time', ({ world }) => {
    const ids = Array.from({ length: 9 }, (_, n) => `run-2020010${n + 1}-000000-aaaa`);
    const names = ids.map((id) => writeOldLog(world.dir, id));
    const own = join(world.dir, 'run-20260101-000000-ffff.json');
    const other = join(world.dir, 'run-20260101-000000-eeee.json');
    // In the middle of the one, the other does all of it.
    let begun = false;
    const problems = rotateLogs(own, FEW, () => {
      if (!begun) {
        begun = true;
        expect(rotateLogs(other, FEW, nothing)).toEqual([]);
      }
      return false;
    });
    expect(problems).toEqual([]);
    expect(readdirSync(world.dir).filter((name) => names.includes(name))).toEqual([]);
  });

  it('tells what it could not do', ({ world }) => {
    const logs = join(world.dir, 'logs');
    mkdirSync(logs);
    const old = join(logs, writeOldLog(logs, 'run-20200101-000000-aaaa'));
    const own = join(logs, 'run-20260101-000000-ffff.json');
    const becomesDirectory = () => {
      rmSync(old);
      mkdirSync(old);
      return false;
    };
    expect(rotateLogs(own, FEW, becomesDirectory)).toEqual([
      expect.stringMatching(/^An old log cannot be deleted: /),
    ]);
    rmSync(logs, { recursive: true });
    expect(rotateLogs(own, FEW, nothing)).toEqual([
      expect.stringMatching(/^Old logs in .* cannot be listed: /),
    ]);
  });

  it('keeps the newest, by number and by size, and those under way', ({ world }) => {
    const size = readFileSync(join(world.dir, writeOldLog(world.dir, 'run-20200101-000000-aaaa'))).length;
    const ids = ['01', '02', '03', '04', '05'].map((day) => `run-202001${day}-000000-aaaa`);
    const own = join(world.dir, 'run-20260101-000000-ffff.json');
    const left = (rotation: typeof FEW) => {
      for (const id of ids) writeOldLog(world.dir, id);
      expect(rotateLogs(own, rotation, (id) => id === ids[1])).toEqual([]);
      return ids.filter((id) => existsSync(join(world.dir, `${id}.json`))).map((id) => id.slice(10, 12));
    };
    expect(left({ maxFiles: 100, maxSizeMB: 10 })).toEqual(['01', '02', '03', '04', '05']);
    expect(left({ maxFiles: 3, maxSizeMB: 10 })).toEqual(['02', '04', '05']);
    expect(left({ maxFiles: 100, maxSizeMB: (size * 3.5) / 1e6 })).toEqual(['02', '03', '04', '05']);
    expect(left({ maxFiles: 1, maxSizeMB: 10 })).toEqual(['02']);
  });
});
