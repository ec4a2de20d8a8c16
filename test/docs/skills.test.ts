import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { Plan, PlanBase, PlanEntry } from '../../src/model/plan-schema.ts';
import { Ticket, TicketBase } from '../../src/model/ticket-schema.ts';
import { listSkills } from '../../src/workflows/install-skills.ts';
import { run, scratch, signalbox } from './cli.ts';
import { commandProblem, readHelp } from './help.ts';
import { type Block, codes, parse, ROOT } from './markdown.ts';
import { knownVariables, variablesIn } from './source.ts';

const OURS = ['planner', 'cli', 'config', 'workflows', 'linear', 'github-issues', 'markdown'];
const FILES = readdirSync(join(ROOT, 'skills'), { recursive: true, encoding: 'utf8' })
  .filter((name) => basename(name) === 'SKILL.md' && OURS.includes(basename(dirname(name))))
  .sort();
const SKILLS = FILES.map((name) => parse(name, readFileSync(join(ROOT, 'skills', name), 'utf8')));
const BLOCKS = SKILLS.flatMap(({ blocks }) => blocks);
const help = await readHelp();

const at = ({ file, line }: Block) => `${file}:${line}`;
const ofLang = (lang: string) => BLOCKS.filter((block) => block.lang === lang);

let home: string;
beforeEach(() => {
  home = scratch();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

describe('skills', () => {
  it('are all there, named after their directories', async () => {
    expect(SKILLS.map(({ file }) => basename(dirname(file))).sort()).toEqual([...OURS].sort());
    const listed = await listSkills([join(ROOT, 'skills')]);
    for (const { name, dir, description } of listed) {
      expect(name).toBe(basename(dir));
      expect(description.length, name).toBeLessThan(1024);
    }
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(OURS));
  });

  it('name every bundled script and prompt that a workflow of one’s own can use', () => {
    const { text = '' } = SKILLS.find(({ file }) => file.startsWith('workflows/')) ?? {};
    const named = (dir: string) =>
      readdirSync(join(ROOT, dir)).filter((name) => !/^(spec|issue|planner|ticket)/.test(name));
    const missing = [...named('scripts'), ...named('prompts')].filter(
      (name) => !text.includes(`\`${name}\``),
    );
    expect(missing).toEqual([]);
  });

  it('are short enough to be read', () => {
    for (const { file, text } of SKILLS) expect(text.split('\n').length, file).toBeLessThan(150);
  });

  it('every block says what it is', () => {
    const known = ['console', 'json', 'yaml', 'text'];
    expect(BLOCKS.filter(({ lang }) => !known.includes(lang)).map(at)).toEqual([]);
  });

  it('have command lines that are complete and understood', () => {
    const calls = ofLang('console').flatMap((block) =>
      block.text
        .split('\n')
        .filter(Boolean)
        .map((line) => [at(block), line.replace(/^\$ /, '').replaceAll('\\"', '')] as const),
    );
    expect(calls.length).toBeGreaterThan(50);
    const wrong = calls.flatMap(([where, call]) => {
      const problem = commandProblem(help, call, { complete: true });
      return problem ? [`${where}: ${problem}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  it('name commands, flags and variables that exist in their text', () => {
    const known = knownVariables();
    const wrong = SKILLS.flatMap(({ file, prose }) => [
      ...codes(prose.replaceAll('\n', ' '))
        .filter((code) => code.startsWith('signalbox '))
        .flatMap((call) => commandProblem(help, call, { complete: false }) ?? []),
      ...variablesIn(prose)
        .filter((name) => !known.has(name))
        .map((name) => `${file}: ${name}`),
    ]);
    expect(wrong).toEqual([]);
  });

  it.each(ofLang('json').map((block) => [at(block), block] as const))('%s fits its schema', (_at, block) => {
    const data = JSON.parse(block.text) as Record<string, unknown>;
    const [, planId, ticketId] =
      /^plans\/([\w-]+)\/(?:plan|tickets\/([\w-]+))\.json$/.exec(block.title ?? '') ?? [];
    expect(planId, 'its title says where it belongs').toBeDefined();
    const shape = ticketId === undefined ? PlanBase.shape : TicketBase.shape;
    expect(Object.keys(data).filter((key) => !(key in shape))).toEqual([]);
    if (ticketId !== undefined) {
      expect(Ticket.parse(data)).toMatchObject({ planId, ticketId });
      return;
    }
    const plan = Plan.parse(data);
    expect(plan).toMatchObject({ id: planId, status: 'draft' });
    const entries = (data as { tickets: object[] }).tickets;
    expect(entries.flatMap((entry) => Object.keys(entry)).filter((key) => !(key in PlanEntry.shape))).toEqual(
      [],
    );
  });

  it('name only fields of plans and tickets in the table of fields', () => {
    const planner = SKILLS.find(({ file }) => file.startsWith('planner'));
    const [table] = planner?.tables.filter(({ head }) => head[0] === 'Field') ?? [];
    const named = table?.rows.flatMap(([cell = '']) => codes(cell)) ?? [];
    expect(named.length).toBeGreaterThan(8);
    const known = [
      ...Object.keys(PlanBase.shape),
      ...Object.keys(TicketBase.shape),
      ...Object.keys(PlanEntry.shape).map((name) => `tickets[].${name}`),
    ];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('have a plan that passes the check without a word', async () => {
    for (const block of ofLang('json')) put(join('state', block.title ?? ''), block.text);
    const repo = join(home, 'src', 'teatime');
    mkdirSync(repo, { recursive: true });
    const git = (...args: string[]) => run('git', args, { cwd: repo, env: { ...process.env, HOME: home } });
    await git('init', '--quiet', '--initial-branch=main');
    await git(
      '-c',
      'user.name=T',
      '-c',
      'user.email=t@example.org',
      'commit',
      '--quiet',
      '--allow-empty',
      '-m',
      'x',
    );
    // The agents of the example stand in the path; which of them are installed here is not the question.
    const bin = join(home, 'bin');
    mkdirSync(bin, { recursive: true });
    for (const name of ['claude', 'codex']) writeFileSync(join(bin, name), '#!/bin/sh\n', { mode: 0o755 });
    const env = { SIGNALBOX_HOME: home, PATH: `${bin}:${process.env.PATH}` };
    const { code, out } = await signalbox(['plan', 'check', 'tea', '--json'], home, env);
    expect(JSON.parse(out)).toEqual({ plan: 'tea', ok: true, problems: [] });
    expect(code).toBe(0);
  });

  it('have workflows that pass the check', async () => {
    const workflows = ofLang('yaml').filter(({ text }) => 'phases' in (parseYaml(text) as object));
    expect(workflows.length).toBeGreaterThan(0);
    for (const block of workflows) put(block.title ?? '', block.text);
    const { out } = await signalbox(['workflow', 'check', '--json'], home, { SIGNALBOX_HOME: home });
    const own = (JSON.parse(out) as { file: string; problems: unknown[] }[]).filter(({ file }) =>
      file.startsWith(home),
    );
    expect(own).toHaveLength(workflows.length);
    expect(own.flatMap(({ problems }) => problems)).toEqual([]);
  });

  const settings = ofLang('yaml').filter(({ text }) => !('phases' in (parseYaml(text) as object)));
  it.each(settings.map((block) => [at(block), block] as const))(
    '%s is accepted as settings',
    async (_at, block) => {
      put('example.yaml', block.text);
      const { code, err } = await signalbox(['-C', join(home, 'example.yaml'), 'config', '--json'], home);
      expect({ code, err }).toEqual({ code: 0, err: '' });
    },
  );

  it('have an issue file that is understood', async () => {
    const [file] = ofLang('text').filter(({ title }) => title?.endsWith('.md'));
    put('cache.md', file?.text.replace(', "#12"', '') ?? '');
    put('parser.md', '---\nid: parser\n---\n# Parser\n');
    const { code, out } = await signalbox(['import', 'cache.md', 'parser.md'], home);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      items: [
        {
          id: 'cache',
          labels: ['performance'],
          dependsOn: ['markdown:parser'],
          acceptanceCriteria: [{}, {}].map(() => expect.any(String)),
        },
        { id: 'parser' },
      ],
    });
  });
});
