import { effect } from '@preact/signals';
import { render } from 'preact';
import { board, follow, isOldPage, link, needYou } from './live/live.ts';
import './live/preferences.ts';
import { followLinks, route } from './live/route.ts';
import type { Route } from './live/route-of.ts';
import { BoardPage } from './pages/board.tsx';
import { CostsPage } from './pages/costs.tsx';
import { PlanPage } from './pages/plan.tsx';
import { PlansPage } from './pages/plans.tsx';
import { ReportPage } from './pages/report.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { TicketPage } from './pages/ticket.tsx';
import { AskDialog, Said } from './parts/act.tsx';
import { ConnectionNote, TopBar } from './parts/top-bar.tsx';

function App() {
  if (link.value.kind === 'ended') return <SignIn />;
  return (
    <>
      <a class="skip" href="#page">
        Skip to the page
      </a>
      <TopBar />
      <ConnectionNote />
      {isOldPage.value && (
        <p class="note">
          Signalbox was updated.{' '}
          <button type="button" onClick={() => location.reload()}>
            Load the new page
          </button>
        </p>
      )}
      <main id="page" tabIndex={-1}>
        <CurrentPage />
      </main>
      <AskDialog />
      <Said />
    </>
  );
}

function CurrentPage() {
  const at = route.value;
  switch (at.page) {
    case 'board':
      return <BoardPage />;
    case 'plans':
      return <PlansPage />;
    case 'plan':
      return <PlanPage key={at.plan} id={at.plan} />;
    case 'ticket':
      return <TicketPage key={`${at.plan}/${at.ticket}`} planId={at.plan} ticketId={at.ticket} />;
    case 'costs':
      return <CostsPage />;
    case 'report':
      return <ReportPage />;
    case 'unknown':
      return (
        <p class="empty">
          There is nothing at this address. <a href="/">To the board</a>
        </p>
      );
  }
}

/** The tab says from afar whether something needs a person. */
function showInTab(): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  effect(() => {
    const count = needYou.value;
    const at = route.value;
    const name =
      at.page === 'ticket' ? `${at.ticket} · ${at.plan}` : at.page === 'plan' ? at.plan : NAMES[at.page];
    document.title = `${count > 0 ? `(${count}) ` : ''}${name} · Signalbox`;
    const isLost = link.value.kind === 'lost' || link.value.kind === 'ended';
    const isRunning = (board.value?.head.counts.running ?? 0) > 0;
    const file = isLost
      ? '/icon-old.svg'
      : count > 0
        ? '/icon-need.svg'
        : isRunning
          ? '/icon-run.svg'
          : '/icon.svg';
    if (icon && icon.getAttribute('href') !== file) icon.setAttribute('href', file);
  });
}

const NAMES: Record<Exclude<Route['page'], 'plan' | 'ticket'>, string> = {
  board: 'Board',
  plans: 'Plans',
  costs: 'Costs',
  report: 'Report',
  unknown: 'Not found',
};

const root = document.getElementById('root');
if (root) {
  followLinks();
  showInTab();
  root.replaceChildren();
  render(<App />, root);
  void follow();
}
