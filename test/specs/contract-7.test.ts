import { contract7 } from './contract-7.ts';

contract7({ how: 'without tmux', flags: ['--no-tmux'], env: () => ({}) });
