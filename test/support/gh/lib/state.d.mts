import type { FakeState } from '../fake-gh.ts';

export function update<T>(file: string, change: (state: FakeState) => T): T;
