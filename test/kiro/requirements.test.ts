import { describe, expect, it } from 'vitest';
import {
  parseRequirements,
  RequirementIndex,
  requirementKey,
  sayRequirements,
} from '../../src/kiro/parse-and-find-requirements.ts';

const EARS = `# Requirements Document

## Introduction

Words about 1.5 things.

## Requirements

### Requirement 1: Limits

**User Story:** As an operator, I want limits, so that
nobody takes all.

#### Acceptance Criteria

1. WHEN a key has used its window THEN the system SHALL answer 429
2. IF the store is away
   THEN the system SHALL let requests through
   - and log it

### Requirement 2

#### Acceptance Criteria

1. WHEN the window ends THEN the system SHALL count from zero

## Non-Functional

- **NFR-1**: Answers within 5 ms
- **NFR-2**: No new service
`;

const BUGFIX = `# Bugfix Requirements

## Bug Analysis

### Current Behavior (Defect)

1.1 WHEN the list is empty THEN the system crashes

### Expected Behavior (Correct)

2.1 WHEN the list is empty THEN the system SHALL show a hint

### Unchanged Behavior (Regression Prevention)

3.1 WHEN the list has entries THEN the system SHALL CONTINUE TO show them
`;

function say(text: string, ...ids: string[]): string {
  return sayRequirements(new RequirementIndex(parseRequirements(text)).named(ids));
}

describe('requirements', () => {
  it('are read with their criteria, as Kiro writes them', () => {
    const list = parseRequirements(EARS).map(({ id, title, line, criteria }) => ({
      id,
      title,
      line,
      criteria: criteria.map((criterion) => criterion.id),
    }));
    expect(list).toEqual([
      { id: '1', title: 'Limits', line: 9, criteria: ['1.1', '1.2'] },
      { id: '2', title: '', line: 21, criteria: ['2.1'] },
      { id: '', title: 'Non-Functional', line: 27, criteria: ['NFR-1', 'NFR-2'] },
    ]);
  });

  it('are given in full, or criterion by criterion', () => {
    expect(say(EARS, '1.2')).toBe(
      [
        'Requirement 1: Limits',
        '**User Story:** As an operator, I want limits, so that',
        'nobody takes all.',
        '1.2 IF the store is away',
        'THEN the system SHALL let requests through',
        '- and log it',
      ].join('\n'),
    );
    expect(say(EARS, '2', '1.1')).toMatch(
      /^Requirement 1: Limits\n[\s\S]*\n1\.1 WHEN[^\n]*\n\nRequirement 2\n[\s\S]*2\.1 WHEN/,
    );
    expect(say(EARS, 'all')).toContain('NFR-2 No new service');
  });

  it('of a bugfix are found by the numbers that are written out', () => {
    expect(say(BUGFIX, '2.1', '3.1')).toBe(
      [
        'Expected Behavior (Correct)',
        '2.1 WHEN the list is empty THEN the system SHALL show a hint',
        '',
        'Unchanged Behavior (Regression Prevention)',
        '3.1 WHEN the list has entries THEN the system SHALL CONTINUE TO show them',
      ].join('\n'),
    );
  });

  it('are known by any spelling, and missing ones are left out', () => {
    const index = new RequirementIndex(parseRequirements(EARS));
    for (const id of ['1.1', 'R1.1', 'REQ-1.1', 'req_1.1', 'NFR1', 'NFR-1', '1', 'All'])
      expect(index.has(id), id).toBe(true);
    for (const id of ['9.9', 'the guide']) expect(index.has(id), id).toBe(false);
    expect(index.named(['1.1', '9.9', 'the guide', '9.9'])).toHaveLength(1);
  });

  it.each([
    ['R1.1', '1.1'],
    ['REQ-01.2', '1.2'],
    ['NFR-2', 'NFR2'],
    ['TR 3', 'TR3'],
  ])('%s means %s', (id, key) => expect(requirementKey(id)).toBe(key));

  it.each([
    ['### REQ-1: Login\n\n1. WHEN a THEN b\n', ['1.1']],
    ['## Acceptance Criteria\n\n- REQ-1.1 [CONFIRMED] WHEN a THEN b\n', ['REQ-1.1']],
    ['## Requirements\n\n1. The system SHALL a\n2. The system SHALL b\n', ['1', '2']],
    ['### 要件 1: ログイン\n\n1. システムは a\n', ['1.1']],
    ['### 1.1 Title\n\n1. WHEN a\n', ['1.1.1']],
    ['### Requirement 1\n\n- [ ] 1.1 WHEN a\n- [ ] 1.2 WHEN b\n', ['1.1', '1.2']],
  ])('in %j are read too', (text, ids) => {
    expect(parseRequirements(text).flatMap(({ criteria }) => criteria.map(({ id }) => id))).toEqual(ids);
  });
});
