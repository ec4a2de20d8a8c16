import type { FakeState } from '../fake-gh.ts';

export function answerQuery(state: FakeState, query: string, variables: Record<string, unknown>): object;
