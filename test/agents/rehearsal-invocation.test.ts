import { describe, expect, it } from 'vitest';
import { rehearsal } from '../../src/agents/rehearsal.ts';
import { agent, ID, SCHEMA } from './invocation-support.ts';
import { request } from './support.ts';

describe('rehearsal', () => {
  it('is called with session, access, model and schema', () => {
    const config = agent('rehearsal', { command: '/bin/rehearsal', defaultArgs: ['--scenario', 's.yaml'] });
    const { argv, files, env } = rehearsal.invocation(
      request({ agent: config, model: 'm', schema: SCHEMA, access: 'read', maxTurns: 2 }),
    );
    expect(argv).toEqual([
      '/bin/rehearsal',
      '--scenario',
      's.yaml',
      '--session',
      ID,
      '--access',
      'read',
      '--model',
      'm',
      '--schema',
      '{job}/schema.json',
    ]);
    expect(JSON.parse(files['schema.json'] ?? '')).toEqual(SCHEMA);
    expect(env.SIGNALBOX_MAX_TURNS).toBe('2');
    expect(rehearsal.invocation(request({ agent: config, resume: 's-1' })).argv.slice(3)).toEqual([
      '--resume',
      's-1',
      '--access',
      'write',
    ]);
  });
});
