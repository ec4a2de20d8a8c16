import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atTestEnd } from '../support/ends.ts';

export interface LinearRequest {
  headers: IncomingHttpHeaders;
  query: string;
  variables: { filter?: unknown; after?: string | null; id?: string; archived?: boolean };
}

export interface LinearAnswer {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

const servers: Server[] = [];
atTestEnd(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A Linear on this machine that answers as the test says; a promise that never settles never answers. */
export async function linearServer(
  answer: (request: LinearRequest, index: number) => LinearAnswer | Promise<LinearAnswer>,
): Promise<{ url: string; requests: LinearRequest[] }> {
  const requests: LinearRequest[] = [];
  const server = createServer((incoming, response) => {
    let text = '';
    incoming.setEncoding('utf8');
    incoming.on('data', (chunk: string) => {
      text += chunk;
    });
    incoming.on('end', async () => {
      const request = { headers: incoming.headers, ...(JSON.parse(text) as Omit<LinearRequest, 'headers'>) };
      requests.push(request);
      const { status = 200, headers = {}, body } = await answer(request, requests.length);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`, requests };
}

const LAST = { hasNextPage: false, endCursor: null };

export function linearIssue(identifier: string, more: object = {}): Record<string, unknown> {
  return {
    identifier,
    title: `Title of ${identifier}`,
    description: '',
    url: `https://linear.app/acme/issue/${identifier}`,
    state: { type: 'started' },
    parent: null,
    labels: { nodes: [], pageInfo: LAST },
    inverseRelations: { nodes: [], pageInfo: LAST },
    ...more,
  };
}

export function page(nodes: unknown[], endCursor: string | null = null): object {
  return { nodes, pageInfo: { hasNextPage: endCursor !== null, endCursor } };
}

export function issuesPage(nodes: unknown[], endCursor: string | null = null): LinearAnswer {
  return { body: { data: { issues: page(nodes, endCursor) } } };
}
