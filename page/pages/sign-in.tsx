import { useState } from 'preact/hooks';
import { ApiError, send } from '../live/api.ts';
import { Command, Problem } from '../parts/small.tsx';

/** Shown without a session. The link of `signalbox web` is the usual way; its token can be pasted here, too. */
export function SignIn() {
  const [error, setError] = useState<ApiError | null>(null);
  const isWrong = location.search.includes('token=');
  const open = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = String(new FormData(event.target as HTMLFormElement).get('token') ?? '').trim();
    const token = /[?&]token=([\w-]+)/.exec(given)?.[1] ?? given;
    try {
      await send('/session', { token });
      const here = new URL(location.href);
      here.searchParams.delete('token');
      history.replaceState(null, '', here);
      location.reload();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    }
  };
  return (
    <main id="page" class="sign-in">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Signalbox</h1>
      <p>
        {isWrong ? 'The token in this link is not valid any more.' : 'There is no session in this browser.'}{' '}
        This prints a link that opens one:
      </p>
      <Command command="signalbox web" />
      <form onSubmit={open}>
        <label class="field">
          Or paste the link or its token
          <input name="token" type="password" autoComplete="off" required />
        </label>
        {error && <Problem error={error} />}
        <button type="submit" class="primary">
          Open
        </button>
      </form>
    </main>
  );
}
