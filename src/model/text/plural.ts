/** `1 ticket`, `3 tickets`, `2 branches`. */
export function plural(number: number, noun: string, many = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : many}`;
}
