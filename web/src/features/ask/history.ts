import type { Schemas } from '../../api/client';

type Item = Schemas['ConversationItem'];

/** How old conversations are: keys of the texts. */
export type Age = 'historyToday' | 'historyWeek' | 'historyEarlier';

const DAY_MS = 86_400_000;

/** Conversations by age, in their order; no group is empty. */
export function groupsOf(items: Item[], now: number): { age: Age; items: Item[] }[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const ageOf = ({ updated_at: at }: Item): Age =>
    at >= midnight ? 'historyToday' : at >= midnight - 6 * DAY_MS ? 'historyWeek' : 'historyEarlier';
  const ages: Age[] = ['historyToday', 'historyWeek', 'historyEarlier'];
  return ages
    .map(age => ({ age, items: items.filter(item => ageOf(item) === age) }))
    .filter(group => group.items.length > 0);
}
