import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, post } from '../live/api.ts';
import { canAct, link, session } from '../live/live.ts';
import { Problem } from './small.tsx';

export interface Wish {
  /** What the button says. */
  name: string;
  /** What the button of the dialog says, if it is not the name. */
  confirm?: string;
  /** The question of the dialog; it names the ticket or plan. */
  question: string;
  path: string;
  body?: Record<string, unknown>;
  /** A list to choose from before, such as the phase. */
  choose?: { field: string; label: string; options: readonly string[]; chosen?: string };
  isGrave?: boolean;
}

const asked = signal<Wish | null>(null);
/** What became of the last decision, in the words of the command line. */
const said = signal<{ text: string; at: number } | null>(null);

export function say(text: string): void {
  said.value = { text, at: Date.now() };
}

/** Asks before it does something. */
export function ask(wish: Wish): void {
  asked.value = wish;
}

/** Why nothing can be decided now; empty if it can. */
export function whyNot(): string {
  if (session.value?.readOnly) return 'The page is read-only.';
  return link.value.kind === 'live' ? '' : 'There is no connection.';
}

/** A button that leads to a decision. */
export function ActButton({ wish, primary = false }: { wish: Wish; primary?: boolean }) {
  return (
    <button
      type="button"
      class={primary ? 'primary' : wish.isGrave ? 'grave' : ''}
      disabled={!canAct.value}
      title={whyNot() || undefined}
      onClick={() => ask(wish)}
    >
      {wish.name}
    </button>
  );
}

/** The dialog of the decision that was asked for. */
export function AskDialog() {
  const wish = asked.value;
  return wish && <Ask key={wish.path} wish={wish} />;
}

function Ask({ wish }: { wish: Wish }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSent, setSent] = useState(false);
  const { choose } = wish;
  const [choice, setChoice] = useState(choose?.chosen ?? choose?.options[0] ?? '');
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => {
    asked.value = null;
  };
  const act = async (event: Event) => {
    event.preventDefault();
    setSent(true);
    try {
      const body = { ...wish.body, ...(choose ? { [choose.field]: choice } : {}) };
      say((await post<{ text: string }>(wish.path, body)).text);
      close();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      setSent(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="question">
      <form onSubmit={act}>
        <h2 id="question">{wish.question}</h2>
        {choose && (
          <label class="field">
            {choose.label}
            <select value={choice} onInput={(event) => setChoice(event.currentTarget.value)}>
              {choose.options.map((option) => (
                <option key={option} value={option}>
                  {option}
                </option>
              ))}
            </select>
          </label>
        )}
        {error && <Problem error={error} />}
        <div class="buttons end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <button
            type="submit"
            class={wish.isGrave ? 'grave primary' : 'primary'}
            disabled={isSent || !canAct.value}
          >
            {wish.confirm ?? wish.name}
          </button>
        </div>
      </form>
    </dialog>
  );
}

const SHOWN_MS = 8_000;

/** What became of the last decision, for a while. */
export function Said() {
  const current = said.value;
  useEffect(() => {
    if (!current) return;
    const timer = setTimeout(() => {
      if (said.value === current) said.value = null;
    }, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [current]);
  return (
    <div class="said" role="status" aria-live="polite">
      {current && <p>{current.text}</p>}
    </div>
  );
}
