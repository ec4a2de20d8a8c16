/** An address without what may be a key in it: only the host is left. */
export function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}/***`;
}
