/** The part of a JSON Schema that a reference such as `#/$defs/name` names; undefined for one that is not there. */
export function referredSchema(root: Readonly<Record<string, unknown>>, ref: string): unknown {
  if (ref === '#') return root;
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const map = place === undefined ? undefined : root[place];
  const plain = name?.replaceAll('~1', '/').replaceAll('~0', '~') ?? '';
  if (typeof map !== 'object' || map === null || !Object.hasOwn(map, plain)) return undefined;
  return (map as Record<string, unknown>)[plain];
}
