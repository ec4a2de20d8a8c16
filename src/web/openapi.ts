import { z } from 'zod';
import { OWN_HEADER } from './check-request.ts';
import { API, ROUTES, type Route } from './routes.ts';
import * as api from './schemas-of-api-answers-events-and-bodies.ts';

/** The OpenAPI description of the server. */
export function openApi(): Record<string, unknown> {
  const schemas: Record<string, unknown> = {};
  const schemaOf = (type: z.ZodType, io: 'input' | 'output' = 'output'): unknown => {
    const { $schema: _, $defs = {}, ...schema } = z.toJSONSchema(type, { io, target: 'draft-2020-12' });
    for (const [name, each] of Object.entries($defs)) schemas[name] = moved(each);
    const { id } = type.meta() ?? {};
    if (typeof id !== 'string') return moved(schema);
    schemas[id] = moved(schema);
    return { $ref: `#/components/schemas/${id}` };
  };
  const json = (schema: unknown) => ({ 'application/json': { schema } });
  const failure = { description: 'Refused, with the reason', content: json(schemaOf(api.ErrorBody)) };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [operationId, route] of Object.entries<Route>(ROUTES)) {
    const { method, path, about, query, body, answers } = route;
    const parameters = [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
        parameter(name ?? '', 'path', { type: 'string' }),
      ),
      ...Object.entries(query?.shape ?? {}).map(([name, type]) =>
        parameter(name, 'query', schemaOf(type as z.ZodType, 'input')),
      ),
      ...(method === 'post' ? [parameter(OWN_HEADER, 'header', { type: 'string' })] : []),
    ];
    const content = answers
      ? json(schemaOf(answers))
      : { 'text/event-stream': { schema: { type: 'string' } } };
    const operation = {
      operationId,
      summary: about,
      ...(parameters.length > 0 ? { parameters } : {}),
      ...(body ? { requestBody: { required: true, content: json(schemaOf(body, 'input')) } } : {}),
      responses: { 200: { description: 'Done', content }, default: failure },
      ...(route.open ? { security: [] } : {}),
    };
    paths[`${API}${path}`] = { ...paths[`${API}${path}`], [method]: operation };
  }
  for (const type of [api.Change, api.Reset]) schemaOf(type);
  return {
    openapi: '3.1.0',
    info: {
      title: 'signalbox web',
      version: '1',
      description: 'What the page of `signalbox web` reads and does. Explained in docs/web.md.',
    },
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'signalbox_<port>' },
        token: { type: 'http', scheme: 'bearer' },
      },
    },
    security: [{ session: [] }, { token: [] }],
  };
}

function parameter(name: string, place: 'path' | 'query' | 'header', schema: unknown) {
  return { name, in: place, required: place !== 'query', schema };
}

/** References to definitions beside a schema, as references to components. */
function moved(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}
