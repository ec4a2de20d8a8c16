import { DONE, type Expected, RUNNING } from './expected.ts';

export const OPENCODE: Record<string, Expected> = {
  'opencode-auth401': {
    session: 'ses_e1f880e97ffeIFsiIZXiuHu0vw',
    error: 'auth',
    usage: null,
    text: '',
  },
  // It was refused for a full context, made room and went on; the exit code still tells of the refusal.
  'opencode-compacted': {
    session: 'ses_e1e758f13ffehqVzGZFxjc435Y',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: 'Done.',
  },
  // Only the log on stderr tells why it is silent.
  'opencode-limitwait': {
    session: 'ses_e1e7572d8ffeCq3uE5NECOQnnw',
    error: 'limit',
    usage: [100, 20, 50, 0, 0.00014],
    text: 'W',
    resetAt: '2026-11-15T19:37:03.000Z',
    sure: false,
  },
  'opencode-cut1': {
    session: 'ses_e1f86a794ffeZmZbyFSILERfWf',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
  'opencode-late429': {
    session: 'ses_e1f866642ffehRO4nPJI1ukipP',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'opencode-mcp': {
    session: 'ses_e1f662a34ffeoIxLwyhWtay0Ay',
    error: null,
    usage: [100, 20, 50, 0, 0.00014],
    text: 'Hello from stub.',
  },
  'opencode-overloaded529': {
    session: 'ses_e1f806376ffeqahVjOEu9J0pRK',
    error: 'overloaded',
    usage: null,
    text: '',
  },
  'opencode-ratelimit429': {
    session: 'ses_e1f82b20fffetz5FJFty24t1mW',
    error: 'limit',
    usage: null,
    text: '',
    resetAt: '2026-11-15T18:37:05.000Z',
    sure: true,
  },
  'opencode-resume': {
    session: 'ses_e1f84d2fbffezjReeMaHBM3NB5',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
  'opencode-sig-GINT': {
    session: 'ses_e1f7efccfffenjEOPELL0sB507',
    error: 'interrupted',
    usage: null,
    text: RUNNING,
  },
  'opencode-sig-GTERM': {
    session: 'ses_e1f7f5c67ffeFOAquwg2KqqG0S',
    error: 'interrupted',
    usage: null,
    text: RUNNING,
  },
  'opencode-success': {
    session: 'ses_e1f898ac8ffeYlmkQHPQWrGTwq',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
};
