import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { noticesIn, withOutcome } from '../../src/features/notifications/notify.ts';
import { Plan, PlanBase } from '../../src/model/plan-schema.ts';
import { Ticket, TicketBase } from '../../src/model/ticket-schema.ts';
import { checkScenario } from '../../src/rehearsal/load-scenario.ts';
import { scratch, signalbox } from './cli.ts';
import { BLOCKS, type Block, DOCS } from './markdown.ts';
import { eventTypes } from './source.ts';

const at = ({ file, line }: Block) => `${file}:${line}`;
const ofLang = (lang: string) => BLOCKS.filter((block) => block.lang === lang);

/** What a YAML example is an example of. */
function kindOf(block: Block): 'workflow' | 'scenario' | 'config' {
  const data: unknown = parse(block.text);
  if (Array.isArray(data)) return 'scenario';
  return data !== null && typeof data === 'object' && 'phases' in data ? 'workflow' : 'config';
}

let home: string;
beforeEach(() => {
  home = scratch();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

it('every block says what it is', () => {
  const known = ['sh', 'console', 'json', 'yaml', 'liquid', 'text', 'mermaid', 'ini', 'js'];
  expect(BLOCKS.filter(({ lang }) => !known.includes(lang)).map(at)).toEqual([]);
});

describe('workflow and prompt examples', () => {
  const documents = DOCS.filter(({ blocks }) =>
    blocks.some(
      (block) => block.lang === 'liquid' || (block.lang === 'yaml' && kindOf(block) === 'workflow'),
    ),
  );

  it.each(documents.map((each) => [each.file, each] as const))(
    'of %s pass the check',
    async (_file, { blocks }) => {
      let checked = 0;
      for (const block of blocks) {
        if (block.lang === 'yaml' && kindOf(block) === 'workflow') {
          expect(block.title, at(block)).toMatch(/^workflows\/[\w-]+\.yaml$/);
          put(block.title ?? '', block.text);
          checked++;
        } else if (block.lang === 'liquid') {
          const name = `prompt-${++checked}`;
          const file = block.title?.replace('prompts/', '') ?? `${name}.md`;
          put(`prompts/${file}`, block.text);
          put(`workflows/${name}.yaml`, `phases: [{ id: work, type: agent, promptTemplate: ${file} }]`);
        } else if (block.title?.startsWith('scripts/')) {
          put(block.title, block.text);
          chmodSync(join(home, block.title), 0o755);
        }
      }
      const { code, out } = await signalbox(['workflow', 'check', '--json'], home, { SIGNALBOX_HOME: home });
      const results = JSON.parse(out) as { file: string; problems: unknown[] }[];
      expect(results.filter(({ problems }) => problems.length > 0)).toEqual([]);
      expect(results.filter(({ file }) => file.startsWith(home))).toHaveLength(checked);
      expect(code).toBe(0);
    },
  );
});

describe('settings examples', () => {
  const examples = ofLang('yaml').filter((block) => kindOf(block) === 'config');

  it.each(examples.map((block) => [at(block), block] as const))('%s is accepted', async (_at, block) => {
    put('example.yaml', block.text);
    const { code, err } = await signalbox(['-C', join(home, 'example.yaml'), 'config', '--json'], home);
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });
});

it('scenario examples are understood by the rehearsal agent', () => {
  const examples = ofLang('yaml').filter((block) => kindOf(block) === 'scenario');
  expect(examples.length).toBeGreaterThan(0);
  for (const block of examples) expect(() => checkScenario(parse(block.text)), at(block)).not.toThrow();
});

/** The notice that the engine makes of a ticket that waits as the example says. */
function noticeLike({
  plan: planId,
  ticket: ticketId,
  title,
  phase,
  reason,
  at: startedAt,
}: Record<string, unknown>) {
  const hold = { kind: 'gate', reason };
  const history = [{ phase, status: 'running', startedAt, decisions: ['approve', 'reject'] }];
  const state = {
    status: 'needs_attention',
    hold,
    since: startedAt,
    currentPhase: phase,
    phaseHistory: history,
  };
  const ticket = Ticket.parse({ planId, ticketId, title, ...state });
  const plan = Plan.parse({ id: planId, status: 'active', tickets: [{ ticketId }] });
  const view = { plans: [plan], tickets: new Map([[`${planId}/${ticketId}`, ticket]]), problems: [] };
  const [found] = noticesIn(view, () => true, ['needs_attention']);
  return found && withOutcome(found.notice, [ticket]);
}

describe('JSON examples', () => {
  it.each(ofLang('json').map((block) => [at(block), block] as const))('%s fits its schema', (_at, block) => {
    const data = JSON.parse(block.text) as Record<string, unknown>;
    if (block.title === 'event') return expect(eventTypes()).toContain(data.type);
    if (block.title === 'error')
      return expect(Object.keys(data.error as object)).toEqual(['code', 'message', 'hint']);
    if (block.title === 'notification') return expect(data).toEqual(noticeLike(data));
    const [, planId, ticketId] =
      /^plans\/([\w-]+)\/(?:plan|tickets\/([\w-]+))\.json$/.exec(block.title ?? '') ?? [];
    expect(planId, 'its title says where it belongs').toBeDefined();
    if (ticketId === undefined) expect(Plan.parse(data).id).toBe(planId);
    else expect(Ticket.parse(data)).toMatchObject({ planId, ticketId });
    const known = Object.keys(ticketId === undefined ? PlanBase.shape : TicketBase.shape);
    return expect(Object.keys(data).filter((key) => !known.includes(key))).toEqual([]);
  });
});
