import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRunning } from '../../support/index.ts';
import { firstOnly } from '../../support/tiers.ts';
import { PROMPT, runStandIn, VARIABLE } from './stand-in.ts';

/** Every adapter that calls a CLI of its own. */
const CLIS = ['claude', 'codex', 'opencode', 'pi', 'gemini', 'custom'];

export interface Contract7 {
  /** `with tmux`, or without. */
  how: string;
  flags: readonly string[];
  env(): NodeJS.ProcessEnv;
  /** Looks at what is left to look at, such as windows. */
  more?(): void;
}

/** The seventh contract, for one adapter after the other: each is called once and hangs until its time is over. */
export function contract7({ how, flags, env, more }: Contract7): void {
  for (const [index, adapter] of CLIS.entries())
    describe(`contract 7: ${adapter} ${how}`, firstOnly(index), () => {
      let run: Awaited<ReturnType<typeof runStandIn>>;
      beforeAll(async () => {
        run = await runStandIn(adapter, env(), ...flags);
      });
      afterAll(() => run?.world.close());

      it('is given a prompt of 20 KB with tabs, quotes, emoji and CRLF byte for byte, and not as an argument', () => {
        expect(Buffer.byteLength(PROMPT)).toBeGreaterThan(20_000);
        expect(run.called.stdin.equals(Buffer.from(PROMPT))).toBe(true);
        expect(run.called.argv.join(' ')).not.toContain('日本語');
      });

      it('is given the variables of its settings and of its unit', () => {
        expect(run.called.env).toMatchObject({
          CONTRACT_VARIABLE: VARIABLE,
          SIGNALBOX_PLAN: 'spec-limits',
          SIGNALBOX_TICKET: '1',
          SIGNALBOX_PHASE: 'implement',
        });
      });

      it('is ended by the timeout with every process it has started', () => {
        expect(run.called.pids.filter(isRunning)).toEqual([]);
        expect(run.ended.code).toBe(2);
        const attempt = run.ticket.phaseHistory.find(({ phase }) => phase === 'implement');
        expect(attempt).toMatchObject({ status: 'failure', error: { class: 'timeout' } });
        more?.();
      });
    });
}
