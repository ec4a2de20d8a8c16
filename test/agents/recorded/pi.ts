import { DONE, type Expected, RUNNING } from './expected.ts';

export const PI: Record<string, Expected> = {
  'pi-auth401': {
    session: '01a1e077-dd17-7039-a1e8-e2db033f2200',
    error: 'auth',
    usage: [0, 0, 0, 0, 0],
    text: '',
  },
  'pi-cut1': {
    session: '01a1e078-3614-751d-8fd5-49be33d264c6',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
    warnings: 1,
  },
  'pi-hangterm': {
    session: '01a1e081-3b83-75fd-9968-cea54b357c6b',
    error: 'interrupted',
    usage: null,
    text: '',
  },
  'pi-late429': {
    session: '01a1e078-6fca-747c-acb6-ac3a122bb743',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'pi-overloaded529': {
    session: '01a1e07e-713a-70bd-ad7b-d2a36f183e65',
    error: 'overloaded',
    usage: [0, 0, 0, 0, 0],
    text: '',
  },
  'pi-ratelimit429': {
    session: '01a1e07c-1731-77bc-a72a-b3157522d084',
    error: 'limit',
    usage: [0, 0, 0, 0, 0],
    text: '',
    resetAt: '2026-11-15T18:37:05.000Z',
    sure: false,
    warnings: 3,
  },
  'pi-ratelimit429long': {
    session: '01a1e07c-95d0-76a1-ace8-7169f88ab930',
    error: 'interrupted',
    usage: null,
    text: '',
  },
  'pi-resume': {
    session: '01a1e07c-57f3-7205-8c2b-8410ec662fc9',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
  'pi-sig-GINT': {
    session: '01a1e07e-18ed-72b6-b6b9-1e3942ba1609',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'pi-sig-GTERM': {
    session: '01a1e07e-07a6-73d7-8b2a-a96441a7b11f',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'pi-success': {
    session: '01a1e076-8657-71ac-81f7-9610e13d3c33',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
};
