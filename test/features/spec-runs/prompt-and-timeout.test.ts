import { contract7 } from './prompt-and-timeout.ts';

contract7({ how: 'without tmux', flags: ['--no-tmux'], env: () => ({}) });
