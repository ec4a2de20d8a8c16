export type Route =
  | { page: 'board' }
  | { page: 'plans' }
  | { page: 'plan'; plan: string }
  | { page: 'ticket'; plan: string; ticket: string }
  | { page: 'costs' }
  | { page: 'report' }
  | { page: 'unknown' };

export function routeOf(path: string): Route {
  const parts = path.split('/').filter(Boolean).map(decoded);
  const [first, plan, middle, ticket, ...more] = parts;
  if (first === undefined) return { page: 'board' };
  if (parts.length === 1 && (first === 'plans' || first === 'costs' || first === 'report'))
    return { page: first };
  if (first !== 'plans' || plan === undefined || more.length > 0) return { page: 'unknown' };
  if (middle === undefined) return { page: 'plan', plan };
  return middle === 'tickets' && ticket !== undefined
    ? { page: 'ticket', plan, ticket }
    : { page: 'unknown' };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
