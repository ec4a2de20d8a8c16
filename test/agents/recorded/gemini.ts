import { DONE, type Expected } from './expected.ts';

export const GEMINI: Record<string, Expected> = {
  'gemini-auth401': {
    session: '267d1570-842e-45bf-8416-a14d7095d17a',
    error: 'auth',
    usage: [0, 0, 0, null, null],
    text: '',
  },
  'gemini-cut1': {
    session: '7cacb1ca-e4f5-4958-b86e-84551ebdbe01',
    error: 'overloaded',
    usage: [0, 0, 0, null, null],
    text: 'This stream will be cut.',
  },
  'gemini-hangterm': {
    session: '9c1f1aa9-9f2d-4f05-a789-d489517a837a',
    error: 'interrupted',
    usage: null,
    text: '',
  },
  'gemini-late429': {
    session: 'ea4cb56e-7fe1-479f-a3bf-51b296423d50',
    error: 'limit',
    usage: [100, 20, 50, null, null],
    text: 'Running a command.',
    resetAt: '2026-11-15T19:37:03.000Z',
    sure: false,
  },
  'gemini-maxturns': {
    session: '808013ac-7dae-4b36-884e-df2b47e319db',
    error: 'turns',
    usage: [300, 60, 150, null, null],
    text: 'Running a command.',
  },
  'gemini-mcp': {
    session: 'd370974a-5a7e-40ff-a781-f0d8f1b5c753',
    error: null,
    usage: [100, 20, 50, null, null],
    text: 'Hello from stub.',
  },
  'gemini-overloaded529': {
    session: 'fd840c5a-0663-421f-af06-2334ae8d5d55',
    error: 'overloaded',
    usage: [0, 0, 0, null, null],
    text: '',
  },
  'gemini-ratelimit429': {
    session: '220cf23b-d263-47f3-a33d-094508587f58',
    error: 'limit',
    usage: null,
    text: '',
    resetAt: '2026-11-15T18:37:05.000Z',
    sure: false,
  },
  'gemini-ratelimit429long': {
    session: 'd888ff1a-30ff-48e4-904a-a24d2ddf8738',
    error: 'limit',
    usage: [0, 0, 0, null, null],
    text: '',
    resetAt: '2026-11-15T19:37:03.000Z',
    sure: false,
  },
  'gemini-resume': {
    session: '22222222-2222-4333-8444-555555555555',
    error: null,
    usage: [200, 40, 100, null, null],
    text: DONE,
  },
  'gemini-sig-GINT': {
    session: '34a715d2-2b84-40fb-b40e-a4a4553e2267',
    error: 'protocol',
    usage: null,
    text: 'Running a command.',
  },
  'gemini-sig-GTERM': {
    session: '2c110f68-300e-4fd5-91dc-a655d0150ae8',
    error: 'interrupted',
    usage: null,
    text: 'Running a command.',
  },
  'gemini-success': {
    session: 'acbab9d4-441e-42d2-ab9e-80586f9845af',
    error: null,
    usage: [200, 40, 100, null, null],
    text: DONE,
  },
};
