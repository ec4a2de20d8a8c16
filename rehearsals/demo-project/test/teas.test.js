import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTea, teas } from '../src/teas.js';

test('finds a tea whatever the case of its name', () => {
  assert.equal(findTea(' Oolong ').celsius, 90);
});

test('does not know coffee', () => {
  assert.equal(findTea('coffee'), undefined);
});

test('no tea is steeped for more than ten minutes', () => {
  for (const tea of teas) assert.ok(tea.seconds > 0 && tea.seconds <= 600, tea.name);
});
