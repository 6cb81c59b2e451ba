import { expect, test } from 'vitest';
import { groupsOf } from './history';

test('conversations are grouped by the days that have passed', () => {
  const now = new Date(2026, 10, 24, 9).getTime();
  const item = (id: string, at: Date) => ({ id, title: id, created_at: 0, updated_at: at.getTime() });
  const items = [
    item('now', new Date(2026, 10, 24, 1)),
    item('yesterday', new Date(2026, 10, 23, 23)),
    item('old', new Date(2026, 10, 1)),
  ];
  const groups = groupsOf(items, now).map(({ age, items }) => [age, items.map(({ id }) => id)]);
  expect(groups).toEqual([
    ['historyToday', ['now']],
    ['historyWeek', ['yesterday']],
    ['historyEarlier', ['old']],
  ]);
  expect(groupsOf([], now)).toEqual([]);
});
