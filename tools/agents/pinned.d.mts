export interface Pinned {
  package: string;
  version: string;
  bin: string;
  slow?: boolean;
}
export const NODE: Pinned;
export const PINNED: Readonly<Record<string, Pinned>>;
export function releaseOf(asked: string): Pinned & { name: string };
