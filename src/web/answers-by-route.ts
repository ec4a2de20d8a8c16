import { hostname } from 'node:os';
import type { z } from 'zod';
import type { EngineContext } from '../engine/context.ts';
import type { Plan } from '../model/plan.ts';
import type { Redact } from '../model/text/find-and-redact-secrets.ts';
import { BoardReader } from '../report/board/read-board.ts';
import { actingFor, changePlan, changeTicket } from './carry-out-changes.ts';
import {
  attemptOf,
  costPage,
  diffPage,
  eventPage,
  planList,
  planPage,
  reportPage,
  statsPage,
  statusPage,
  ticketPage,
} from './read-page-data.ts';
import { readTranscript, readWindow } from './read-transcript.ts';
import type { ROUTES, RouteName } from './routes.ts';
import type { BODIES, Session } from './schemas-of-api-answers-events-and-bodies.ts';

/** What the answers are made from. */
export interface Answering {
  engine: EngineContext;
  /** Takes secrets out of what agents printed. */
  redact: Redact;
  cwd: string;
  version: string;
  readOnly: boolean;
  pid: number;
}

interface Call<N extends RouteName> {
  params: Record<string, string>;
  query: Part<N, 'query'>;
  body: Part<N, 'body'>;
}
type Part<N extends RouteName, P extends 'query' | 'body'> = (typeof ROUTES)[N] extends {
  [K in P]: infer T extends z.ZodType;
}
  ? z.infer<T>
  : Record<never, never>;

/** Routes that the server itself answers, because they are about the connection. */
type OfServer = 'login' | 'live';
type Answers = {
  [N in Exclude<RouteName, OfServer>]: (at: Answering, call: Call<N>) => unknown;
};

const ticketIn = ({ plan = '', ticket = '' }: Record<string, string>) => ({ planId: plan, ticketId: ticket });

export const ANSWERS: Answers = {
  session: (at) => sessionOf(at),
  board: (at) => boardReader(at).read(Date.now()),
  status: ({ engine }, { query }) => statusPage(engine, { all: query.all === 'true' }),
  plans: ({ engine }) => planList(engine),
  plan: (at, { params }) => planPage(at.engine, params.plan ?? '', boardReader(at, params.plan)),
  events: ({ engine }, { params, query }) => eventPage(engine, params.plan ?? '', query),
  ticket: (at, { params }) => ticketPage(at.engine, ticketIn(params), boardReader(at, params.plan)),
  transcript: ({ engine, redact }, { params, query }) => {
    const { source, attempt } = attemptOf(engine, ticketIn(params), params.attempt ?? '');
    return readTranscript(source, attempt, query, redact);
  },
  output: ({ engine, redact }, { params, query: { stream = 'stdout', ...wanted } }) => {
    const { source } = attemptOf(engine, ticketIn(params), params.attempt ?? '');
    return readWindow(source, stream, wanted, redact);
  },
  prompt: ({ engine, redact }, { params, query }) => {
    const { source } = attemptOf(engine, ticketIn(params), params.attempt ?? '');
    const wanted = query.before === undefined && query.after === undefined ? { ...query, after: 0 } : query;
    return readWindow(source, 'prompt.md', wanted, redact);
  },
  diff: ({ engine }, { params, query }) =>
    diffPage(engine, ticketIn(params), { stat: query.stat === 'true' }),
  costs: ({ engine }, { query }) => costPage(engine, query),
  stats: ({ engine, cwd }) => statsPage(engine, cwd),
  report: ({ engine }, { query }) => reportPage(engine, query),
  respond: (at, { params, body: { by, ...answer } }) =>
    changeTicket(actingFor(at.engine, by), ticketIn(params), { type: 'respond', ...answer }),
  retry: (at, { params, body: { by, phase, latest = false } }) =>
    changeTicket(
      actingFor(at.engine, by),
      ticketIn(params),
      phase === undefined ? { type: 'retry', latest } : { type: 'skip', phase },
    ),
  skip: (at, { params, body: { by, phase } }) =>
    changeTicket(actingFor(at.engine, by), ticketIn(params), { type: 'skip', phase }),
  pause: plainly('pause'),
  resume: plainly('resume'),
  stop: plainly('stop'),
  cancel: plainly('cancel'),
  approvePlan: ofPlan('approve'),
  pausePlan: ofPlan('pause'),
  stopPlan: ofPlan('pause'),
  resumePlan: ofPlan('resume'),
  cancelPlan: ofPlan('cancel'),
};

type Plain = { params: Record<string, string>; body: z.infer<(typeof BODIES)['plain']> };

function plainly(type: 'pause' | 'resume' | 'stop' | 'cancel') {
  return ({ engine }: Answering, { params, body }: Plain) =>
    changeTicket(actingFor(engine, body.by), ticketIn(params), { type });
}

function ofPlan(change: Parameters<typeof changePlan>[2]) {
  return ({ engine }: Answering, { params, body }: Plain) =>
    changePlan(actingFor(engine, body.by), params.plan ?? '', change);
}

/** Reads the board of all plans, or of one. */
export function boardReader({ engine, redact }: Answering, planId?: string): BoardReader {
  const { store, settings, machine } = engine;
  const plans =
    planId === undefined
      ? { isShown: () => true, ofLastDay: true }
      : { isShown: ({ id }: Plan) => id === planId, finished: [planId] };
  return new BoardReader({ store, settings, machine, redact, ...plans });
}

export function sessionOf({ engine, version, readOnly, pid }: Answering): Session {
  return {
    version,
    host: hostname(),
    user: engine.env.USER ?? null,
    readOnly,
    stateDir: engine.settings.stateDir,
    publicUrl: engine.settings.web.publicUrl,
    pid,
  };
}
