import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownIdentity } from '../../src/machine/process-identity-and-signals.ts';
import type { Attempt } from '../../src/model/ticket.ts';
import { git, type World } from '../support/index.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

interface Past {
  phase: string;
  /** Minutes ago that it began, and how many it took; without an end it is open. */
  began: number;
  took?: number;
  status?: Attempt['status'];
  visit?: number;
  usd?: number | null;
  agent?: string | null;
  more?: Record<string, unknown>;
}

function attempt({
  phase,
  began,
  took,
  status = 'success',
  visit = 1,
  usd = 0.4,
  agent = 'claude',
  more,
}: Past): Attempt {
  const start = Date.now() - began * MINUTE;
  const isOver = took !== undefined;
  return {
    ...{ phase, visit, attempt: 1, status, agent, sessionId: agent && '5e55-10', output: null, error: null },
    startedAt: new Date(start).toISOString(),
    completedAt: isOver ? new Date(start + took * MINUTE).toISOString() : null,
    outcome: isOver ? status : null,
    usage: agent
      ? {
          inputTokens: 41_000,
          outputTokens: 6_200,
          cacheReadTokens: 380_000,
          cacheWriteTokens: null,
          costUsd: usd,
        }
      : null,
    ...more,
  };
}

const line = (value: unknown) => `${JSON.stringify(value)}\n`;
let calls = 0;

const says = (text: string) => line({ type: 'assistant', message: { content: [{ type: 'text', text }] } });

function uses(name: string, input: Record<string, unknown>, output: string, isError = false): string {
  const id = `call-${++calls}`;
  return (
    line({ type: 'assistant', message: { content: [{ type: 'tool_use', id, name, input }] } }) +
    line({
      type: 'user',
      message: { content: [{ type: 'tool_result', tool_use_id: id, content: output, is_error: isError }] },
    })
  );
}

export const HTML = '<img src=x onerror="document.title=\'broken\'"><script>document.title="broken"</script>';

/** What an agent printed: texts, tool calls that went well or not, colours and HTML. */
export const TRANSCRIPT = [
  line({ type: 'system', subtype: 'init', session_id: '5e55-10', model: 'opus' }),
  says('I will look at how sessions are stored, then move them behind one interface.'),
  uses('Read', { file_path: 'src/session/store.ts' }, 'export class SessionStore {\n  …\n}'),
  uses(
    'Grep',
    { pattern: 'new SessionStore', path: 'src' },
    'src/app.ts:14\nsrc/login.ts:33\ntest/login.test.ts:8',
  ),
  says(
    'Three places make a store of their own. I give them one, and keep the old name as an alias until they are moved.',
  ),
  uses('Edit', { file_path: 'src/session/store.ts' }, 'The file was changed.'),
  uses(
    'Bash',
    { command: 'npm test -- session' },
    '\u001b[31m✗ keeps a session for an hour\u001b[39m\n  expected 3600 to be 60\n\u001b[2m1 failed, 11 passed\u001b[22m',
    true,
  ),
  says(`The lifetime is in minutes there. ${HTML}`),
  uses('Edit', { file_path: 'src/session/lifetime.ts' }, 'The file was changed.'),
  uses('Bash', { command: 'npm test -- session' }, '\u001b[32m✓ 12 passed\u001b[39m in 3.1 s'),
].join('');

/** Writes what an attempt printed and was asked. */
function writeJob(
  world: World,
  ticket: string,
  key: string,
  files: Record<string, string>,
  adapter = 'claude',
): void {
  const dir = join(world.stateDir, 'jobs', ...ticket.split('/'), key);
  mkdirSync(dir, { recursive: true });
  const command = JSON.stringify({ argv: ['claude'], agent: { adapter } });
  for (const [name, text] of Object.entries({ 'command.json': command, ...files }))
    writeFileSync(join(dir, name), text);
}

const PROMPT =
  '# Session storage behind one interface\n\nMove all access to sessions behind `SessionStore`.\n\n## Acceptance criteria\n\n- One place creates the store\n- No test changes its meaning\n';

/**
 * A home with plans in every state: a question, a failure, work that runs, waits and is done, over several days. Nothing in it moves
 * by itself, so that a test sees what it did.
 */
export function fillRichly(world: World): void {
  world.config({
    budgets: { day: { usd: 40 } },
    agents: { claude: { adapter: 'claude' }, codex: { adapter: 'codex' } },
    defaultAgent: 'claude',
  });
  world.script('run-checks.sh', 'true');
  for (const name of ['do', 'review']) world.prompt(`${name}.md`, PROMPT);
  world.workflow('ship', [
    { id: 'implement', type: 'agent', promptTemplate: 'do.md', maxVisits: 3, onSuccess: 'checks' },
    { id: 'checks', type: 'script', command: 'run-checks.sh', onSuccess: 'review', onFailure: 'implement' },
    {
      id: 'review',
      type: 'agent',
      promptTemplate: 'review.md',
      onSuccess: 'approve',
      onFailure: 'implement',
    },
    {
      id: 'approve',
      type: 'gate',
      prompt: 'Ship it?',
      on: { approve: 'merge', reject: 'merge', needs_changes: 'implement' },
    },
    { id: 'merge', type: 'script', command: 'run-checks.sh', onSuccess: 'done' },
    { id: 'done', type: 'terminal' },
  ]);
  const ago = (hours: number) => new Date(Date.now() - hours * HOUR).toISOString();
  const claim = { ...ownIdentity(), token: 'engine-of-the-test', by: 'daemon', renewedAt: ago(0) };
  const ship = { workflow: 'ship' };
  git(world.repo, 'branch', 'ticket/auth/AUTH-3');
  git(world.repo, 'worktree', 'add', '--quiet', world.worktree('auth', 'AUTH-3'), 'ticket/auth/AUTH-3');
  const tree = world.worktree('auth', 'AUTH-3');
  const commit = git(world.repo, 'rev-parse', 'HEAD');
  mkdirSync(join(tree, 'src', 'session'), { recursive: true });
  writeFileSync(
    join(tree, 'src', 'session', 'store.ts'),
    "import { lifetime } from './lifetime.ts';\n\n/** The only way to sessions. */\nexport class SessionStore {\n  readonly #sessions = new Map<string, number>();\n\n  open(id: string, now: number): void {\n    this.#sessions.set(id, now + lifetime);\n  }\n}\n",
  );
  writeFileSync(
    join(tree, 'src', 'session', 'lifetime.ts'),
    '// <b>minutes</b>\nexport const lifetime = 60 * 60;\n',
  );
  git(tree, 'add', '--all');
  git(tree, 'commit', '--quiet', '--message', 'Sessions behind one interface');
  world.plan('auth', {
    ...ship,
    name: 'Sign-in rework',
    createdAt: ago(6),
    tickets: {
      'AUTH-1': {
        title: 'Passwords are checked with argon2',
        status: 'complete',
        since: ago(3.4),
        currentPhase: 'done',
        phaseHistory: [
          attempt({ phase: 'implement', began: 330, took: 42, usd: 1.9 }),
          attempt({ phase: 'checks', began: 288, took: 6, agent: null }),
          attempt({
            phase: 'review',
            began: 282,
            took: 9,
            usd: 0.35,
            agent: 'codex',
            more: { outcome: 'pass', output: 'Clear, and tested.\n\n- The name could be shorter.' },
          }),
          attempt({ phase: 'merge', began: 206, took: 1, agent: null }),
        ],
      },
      'AUTH-2': {
        title: 'Rate limit for failed sign-ins',
        blockedBy: ['AUTH-1'],
        status: 'failed',
        since: ago(1.2),
        currentPhase: 'checks',
        error: 'npm test ended with code 1: 2 tests failed',
        phaseHistory: [
          attempt({ phase: 'implement', began: 200, took: 55, usd: 3.4 }),
          attempt({ phase: 'checks', began: 145, took: 4, status: 'failure', agent: null }),
          attempt({ phase: 'implement', began: 141, took: 58, visit: 2, usd: 2.75 }),
          attempt({
            phase: 'checks',
            began: 83,
            took: 11,
            visit: 2,
            status: 'failure',
            agent: null,
            more: { error: { class: 'checks', message: 'npm test ended with code 1: 2 tests failed' } },
          }),
        ],
        visits: { implement: 2, checks: 2 },
      },
      'AUTH-3': {
        title: 'Session storage behind one interface',
        description:
          'All access to sessions goes through `SessionStore`.\nThe old name stays as an alias for one release.',
        acceptanceCriteria: ['One place creates the store', 'No test changes its meaning'],
        blockedBy: ['AUTH-1'],
        status: 'needs_attention',
        since: ago(0.6),
        currentPhase: 'approve',
        branch: 'ticket/auth/AUTH-3',
        worktree: tree,
        base: { ref: 'main', commit },
        hold: { kind: 'gate', reason: 'Ship it? (approve | reject | needs_changes)', until: null },
        phaseHistory: [
          attempt({ phase: 'implement', began: 190, took: 71, usd: 4.1 }),
          attempt({ phase: 'checks', began: 119, took: 5, agent: null }),
          attempt({ phase: 'review', began: 114, took: 12, usd: 0.6, agent: 'codex' }),
          attempt({
            phase: 'approve',
            began: 36,
            status: 'running',
            agent: null,
            more: {
              asks: 'Ship it? (approve | reject | needs_changes)',
              decisions: ['approve', 'reject', 'needs_changes'],
            },
          }),
        ],
        visits: { implement: 1, checks: 1, review: 1, approve: 1 },
      },
      'AUTH-4': {
        title: 'Sign out everywhere',
        blockedBy: ['AUTH-3'],
      },
      'AUTH-5': {
        title: 'Tokens of a session can be renewed',
        blockedBy: ['AUTH-3'],
        status: 'running',
        since: ago(0.3),
        claim,
        currentPhase: 'implement',
        phaseHistory: [attempt({ phase: 'implement', began: 18, status: 'running', usd: null })],
        visits: { implement: 1 },
      },
      'AUTH-6': { title: 'Docs of the new sign-in', blockedBy: ['AUTH-4', 'AUTH-5'] },
    },
  });
  world.plan('search', {
    ...ship,
    name: 'Search that forgives typos',
    createdAt: ago(30),
    tickets: Object.fromEntries(
      [
        'Index of word pieces',
        'Ranking by distance',
        'Highlight what was found',
        'Synonyms',
        'Benchmark',
        'Docs',
      ].map((title, at) => [
        `S-${at + 1}`,
        at < 2
          ? {
              title,
              status: 'complete',
              since: ago(20 - at),
              currentPhase: 'done',
              phaseHistory: [
                attempt({ phase: 'implement', began: (26 - at) * 60, took: 90, usd: 5.2 + at }),
                attempt({ phase: 'review', began: (24 - at) * 60, took: 15, usd: 0.7, agent: 'codex' }),
              ],
            }
          : at === 2
            ? {
                title,
                status: 'running',
                since: ago(0.1),
                claim,
                currentPhase: 'review',
                phaseHistory: [
                  attempt({ phase: 'implement', began: 95, took: 80, usd: 3.3 }),
                  attempt({ phase: 'review', began: 7, status: 'running', agent: 'codex', usd: null }),
                ],
              }
            : { title, blockedBy: ['S-3'] },
      ]),
    ),
  });
  world.plan('chores', {
    ...ship,
    name: 'Small chores of the week',
    createdAt: ago(100),
    status: 'complete',
    completedAt: ago(70),
    tickets: Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => [
        `C-${at + 1}`,
        {
          title: `Chore ${at + 1}`,
          status: 'complete',
          since: ago(72 + at),
          currentPhase: 'done',
          phaseHistory: [
            attempt({ phase: 'implement', began: (76 + at * 14) * 60, took: 25, usd: 1.1 + (at % 3) }),
            attempt({ phase: 'review', began: (75 + at * 14) * 60, took: 9, usd: 0.3, agent: 'codex' }),
          ],
        },
      ]),
    ),
  });
  world.plan('draft', {
    ...ship,
    name: 'A plan that waits for approval',
    createdAt: ago(1),
    status: 'draft',
    tickets: { 'D-1': { title: 'First thing' }, 'D-2': { title: `Escapes ${HTML}`, blockedBy: ['D-1'] } },
  });
  writeJob(world, 'auth/AUTH-3', 'implement.1.1', { stdout: TRANSCRIPT, stderr: '', 'prompt.md': PROMPT });
  writeJob(world, 'auth/AUTH-3', 'review.1.1', {
    stdout: '',
    stderr: 'warning: no config\n',
    'prompt.md': 'Review it.\n',
  });
  writeJob(world, 'auth/AUTH-5', 'implement.1.1', { stdout: TRANSCRIPT, stderr: '', 'prompt.md': PROMPT });
  const failed =
    '> npm test\n\n\u001b[31m ✗ test/limit.test.ts > waits longer after every failure\u001b[39m\n   expected 4 to be 8\n\u001b[31m ✗ test/limit.test.ts > forgets after an hour\u001b[39m\n\n \u001b[1mTests\u001b[22m  \u001b[31m2 failed\u001b[39m | \u001b[32m48 passed\u001b[39m\n';
  writeJob(world, 'auth/AUTH-2', 'checks.2.1', { stdout: failed, stderr: '' });
}
