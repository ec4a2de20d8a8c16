import { afterAll, afterEach } from 'vitest';
import { fileEnded, testEnded } from './ends.ts';

afterEach(testEnded);
afterAll(fileEnded);
