import { LiveSource, type News } from './live-source.ts';

// Shared by all tabs of a browser, so that they need one connection together: a browser opens at most six to a server.

interface Tab {
  postMessage(news: News): void;
  onmessage: ((event: MessageEvent<'leave' | 'again'>) => void) | null;
}

const tabs = new Set<Tab>();
const source = new LiveSource((news) => {
  for (const tab of tabs) tab.postMessage(news);
});

addEventListener('connect', (event) => {
  const [tab] = (event as MessageEvent).ports;
  if (!tab) return;
  if (!source.isOpen) source.open();
  tabs.add(tab);
  for (const news of source.current) tab.postMessage(news);
  tab.onmessage = ({ data }) => {
    if (data === 'again') return source.open();
    tabs.delete(tab);
    if (tabs.size === 0) source.close();
  };
});
