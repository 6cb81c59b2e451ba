/** What the palette can do. */
export interface Command {
  id: string;
  /** What it does, in words. */
  text: string;
  /** Its part of the palette. */
  group: string;
  /** Other words it is found by. */
  words?: string;
  /** The keys that do the same. */
  keys?: string;
  run: () => void;
}

/**
 * The commands that match what was typed, best first; all in their order if nothing was.
 *
 * Every typed word must occur; the beginning of the text counts most, then the beginning of a word.
 */
export function matching(commands: Command[], typed: string): Command[] {
  const words = typed
    .toLocaleLowerCase()
    .split(/\s+/)
    .filter(word => word !== '');
  return commands
    .map((command, index) => ({ command, index, score: scoreOf(command, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .map(({ command }) => command);
}

function scoreOf({ text, group, words = '' }: Command, typed: string[]): number {
  const own = text.toLocaleLowerCase();
  const all = `${own} ${group} ${words}`.toLocaleLowerCase();
  if (!typed.every(word => all.includes(word))) return 0;
  return (
    1 +
    typed.reduce((sum, word) => sum + (own.startsWith(word) ? 4 : ` ${own}`.includes(` ${word}`) ? 2 : 0), 0)
  );
}
