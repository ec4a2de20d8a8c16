// Loaded before a command that has no terminal in tests: its standard input looks like one.
Object.defineProperty(process.stdin, 'isTTY', { value: true });
