import { z } from 'zod';
import * as api from './schemas-of-api-answers-events-and-bodies.ts';

export const API = '/api/v1';

/** One operation of the API. */
export interface Route {
  method: 'get' | 'post';
  /** Below `/api/v1`; `{name}` is a parameter. */
  path: string;
  about: string;
  query?: z.ZodObject;
  body?: z.ZodObject;
  /** Undefined: a stream of events. */
  answers?: z.ZodType;
  /** Possible without a session, because it opens one. */
  open?: true;
}

const offset = z.coerce.number().int().min(0);
const byteWindow = z.object({
  before: offset.optional().describe('The part that ends before this offset; default: the end of the file'),
  after: offset.optional().describe('The part that begins at this offset'),
  bytes: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Size of the part; default 131072, at most 1048576'),
});
const since = z.string().max(40).optional().describe('18:00, 12h or 2026-03-01');
const TICKET = '/plans/{plan}/tickets/{ticket}';

/** Every operation, once. The server, its checks and the OpenAPI file are made from this table. */
export const ROUTES = {
  session: {
    method: 'get',
    path: '/session',
    about: 'Who and where this is. 401 without a session',
    answers: api.Session,
  },
  login: {
    method: 'post',
    path: '/session',
    about: 'Opens a session with the token, as the link of `signalbox web` does',
    body: api.BODIES.session,
    answers: api.Session,
    open: true,
  },
  live: {
    method: 'get',
    path: '/live',
    about:
      'Server-sent events: `snapshot` (Board), then `change` (Change). `Last-Event-ID` continues; an id that is too old gets `reset` (Reset) and a snapshot',
    query: z.object({ lastEventId: z.string().max(60).optional().describe('As the header Last-Event-ID') }),
  },
  board: {
    method: 'get',
    path: '/board',
    about:
      'What `signalbox top --all --json` prints: plans that are open, and those that finished in the last day',
    answers: api.Board,
  },
  status: {
    method: 'get',
    path: '/status',
    about: 'What `signalbox status --json` prints, with `all`; without it, plans that are not finished',
    query: z.object({ all: z.enum(['true', 'false']).optional() }),
    answers: z.array(api.PlanStatus),
  },
  plans: {
    method: 'get',
    path: '/plans',
    about: 'All plans, as `signalbox plan list --json`, the newest first',
    answers: api.PlanList,
  },
  plan: { method: 'get', path: '/plans/{plan}', about: 'One plan with its tickets', answers: api.PlanPage },
  events: {
    method: 'get',
    path: '/plans/{plan}/events',
    about: 'Events of a plan, as `signalbox logs <plan> --json`, the latest last',
    query: z.object({
      ticket: z.string().max(200).optional().describe('Only of this ticket'),
      last: z.coerce.number().int().min(1).max(5000).optional().describe('How many; default 500'),
    }),
    answers: z.array(api.StoredEvent),
  },
  ticket: { method: 'get', path: TICKET, about: 'One ticket with its attempts', answers: api.TicketPage },
  transcript: {
    method: 'get',
    path: `${TICKET}/attempts/{attempt}/transcript`,
    about: 'What an attempt printed, as entries, from the end',
    query: byteWindow,
    answers: api.Transcript,
  },
  output: {
    method: 'get',
    path: `${TICKET}/attempts/{attempt}/output`,
    about: 'What an attempt printed, as text, from the end',
    query: byteWindow.extend({ stream: z.enum(['stdout', 'stderr']).optional() }),
    answers: api.TextWindow,
  },
  prompt: {
    method: 'get',
    path: `${TICKET}/attempts/{attempt}/prompt`,
    about: 'The prompt of an attempt, from its beginning',
    query: byteWindow,
    answers: api.TextWindow,
  },
  diff: {
    method: 'get',
    path: `${TICKET}/diff`,
    about: 'What `signalbox diff --json` prints',
    query: z.object({ stat: z.enum(['true', 'false']).optional() }),
    answers: api.Diff,
  },
  costs: {
    method: 'get',
    path: '/costs',
    about: 'What attempts of agents used, per day, plan, phase and agent',
    query: z.object({ since, plan: z.string().max(200).optional() }),
    answers: api.Costs,
  },
  stats: {
    method: 'get',
    path: '/stats',
    about: 'What `signalbox stats --json` prints in the directory of the server',
    answers: z.looseObject({ runs: z.number() }).meta({ id: 'Stats' }),
  },
  report: {
    method: 'get',
    path: '/report',
    about: 'What `signalbox report --all --json` prints; default: the last 12 hours',
    query: z.object({ since, plan: z.string().max(200).optional() }),
    answers: api.Report,
  },
  respond: ticketChange('respond', 'Answers a gate', api.BODIES.respond),
  retry: ticketChange('retry', 'Runs the failed phase again, or continues at a phase', api.BODIES.retry),
  skip: ticketChange('skip', 'Continues at another phase', api.BODIES.skip),
  pause: ticketChange('pause', 'Stops the ticket’s agent now and keeps everything', api.BODIES.plain),
  resume: ticketChange('resume', 'Continues a paused ticket', api.BODIES.plain),
  stop: ticketChange('stop', 'The same as pause, recorded as a stop', api.BODIES.plain),
  cancel: ticketChange('cancel', 'Gives a ticket up; its branch stays', api.BODIES.plain),
  approvePlan: planChange('approve', 'Makes a draft active'),
  pausePlan: planChange('pause', 'Stops what runs for a plan and starts nothing more'),
  stopPlan: planChange('stop', 'The same as pause'),
  resumePlan: planChange(
    'resume',
    'Continues a plan and its paused tickets, if no terminal is needed for it',
  ),
  cancelPlan: planChange('cancel', 'Gives up a plan with all that is not done'),
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;

function ticketChange<B extends z.ZodObject>(name: string, about: string, body: B) {
  return { method: 'post', path: `${TICKET}/${name}`, about, body, answers: api.TicketDone } as const;
}

function planChange(name: string, about: string) {
  const body = api.BODIES.plain;
  return { method: 'post', path: `/plans/{plan}/${name}`, about, body, answers: api.PlanDone } as const;
}

const PATTERNS = Object.entries(ROUTES).map(([name, { method, path }]) => ({
  name: name as RouteName,
  method,
  names: [...path.matchAll(/\{(\w+)\}/g)].map(([, each = '']) => each),
  pattern: new RegExp(`^${API}${path.replaceAll(/\{\w+\}/g, '([^/]{1,400})')}$`),
}));

/** The route of a path, and its parameters as they were written; `wrong method` where only another method fits. */
export function findRoute(
  method: string,
  path: string,
): { name: RouteName; params: Record<string, string> } | 'wrong method' | undefined {
  const fitting = PATTERNS.flatMap((each) => {
    const match = each.pattern.exec(path);
    return match ? [{ ...each, values: match.slice(1) }] : [];
  });
  const found = fitting.find((each) => each.method === method);
  if (!found) return fitting.length > 0 ? 'wrong method' : undefined;
  const params = found.names.map((name, at) => [name, decoded(found.values[at] ?? '')]);
  return { name: found.name, params: Object.fromEntries(params) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
