import { describe, expect, it } from 'vitest';
import { coverArgs, coverServerArgs } from '../../src/agents/planner-launch-and-masked-arguments.ts';

describe('arguments that are shown', () => {
  it.each<[string[], string[]]>([
    [
      ['--header', 'X-Linear: lin_abc', '-H', 'X: y'],
      ['--header', '***', '-H', '***'],
    ],
    [
      ['--key', 'sk-live-1'],
      ['--key', '***'],
    ],
    [
      ['--api-key=abc', '--auth=x', '--model=opus'],
      ['--api-key=***', '--auth=***', '--model=opus'],
    ],
    [['Authorization: Bearer x'], ['***']],
    [
      ['https://me:pw@host/x', 'https://host/sse?api_key=1'],
      ['***', '***'],
    ],
    [
      ['lin_api_0123456789abcdefghij', 'a1b2c3d4e5f6a7b8'],
      ['***', '***'],
    ],
    [['--x=a1b2c3d4e5f6a7b8c9'], ['--x=***']],
    [
      [
        '-y',
        '@modelcontextprotocol/server-github',
        '--model',
        'claude-sonnet-4-5',
        '/home/me/a1b2c3d4e5f6a7b8',
      ],
      [
        '-y',
        '@modelcontextprotocol/server-github',
        '--model',
        'claude-sonnet-4-5',
        '/home/me/a1b2c3d4e5f6a7b8',
      ],
    ],
  ])('%j become %j', (args, wanted) => {
    expect(coverArgs(args)).toEqual(wanted);
  });
});

it('of a server, whatever stands behind an option is covered', () => {
  const args = ['-y', 'tracker-mcp', '--pat', 'PATKEY', '-k', 'KKEY', '-kKKEY1', '--site=acme', '--verbose'];
  const shown = ['-y', 'tracker-mcp', '--pat', '***', '-k', '***', '-k***', '--site=***', '--verbose'];
  expect(coverServerArgs(args)).toEqual(shown);
  expect(coverServerArgs(['mcp-remote', 'https://mcp.example.com/mcp'])).toEqual([
    'mcp-remote',
    'https://mcp.example.com/mcp',
  ]);
});
