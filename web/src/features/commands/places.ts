import { FEATURES } from '../../app/features';

/** The key of each page after G, of those the UI has: its first free letter. */
export function goKeys(): Map<string, string> {
  const keys = new Map<string, string>();
  for (const { path, name } of FEATURES) {
    const key = name.split(/(?=.)/u).find(letter => !keys.has(letter));
    if (key !== undefined) keys.set(key, path);
  }
  return keys;
}
