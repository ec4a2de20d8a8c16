/** `1 ticket`, `3 tickets`, `2 branches`. */
export function counted(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}
