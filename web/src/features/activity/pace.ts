import type { Schemas } from '../../api/client';
import { type Sample, WINDOW_MS } from './feed';

/** A pace from less than this is a guess, in milliseconds. */
const SHORTEST_MS = 3000;

/** Chunks per minute of the last two minutes; `undefined` if too little is known. */
export function chunksPerMinute(samples: Sample[], now: number): number | undefined {
  const recent = samples.filter(({ at }) => at > now - WINDOW_MS);
  const [first] = recent;
  if (!first || recent.length < 2 || now - first.at < SHORTEST_MS) return undefined;
  // The first sample ends the time before it, so its chunks are not of this time.
  const chunks = recent.slice(1).reduce((sum, sample) => sum + sample.chunks, 0);
  return (chunks * 60_000) / (now - first.at);
}

/**
 * Chunks that are still to be extracted in `open` documents, of which `jobs` are known.
 *
 * The others are taken to be as long as these; `undefined` if no length is known.
 */
export function remainingChunks(jobs: Schemas['JobItem'][], open: number): number | undefined {
  const known = jobs.filter(({ chunks }) => chunks != null);
  if (known.length === 0) return open === 0 ? 0 : undefined;
  const left = known.reduce((sum, { chunks, extracted }) => sum + (chunks ?? 0) - (extracted ?? 0), 0);
  return Math.round((left * Math.max(open, known.length)) / known.length);
}

/** Seconds until `chunks` are done; `undefined` if the pace is unknown or nothing moves. */
export function secondsLeft(chunks: number | undefined, perMinute: number | undefined): number | undefined {
  if (chunks === undefined || perMinute === undefined || perMinute <= 0) return undefined;
  return Math.ceil((chunks * 60) / perMinute);
}

/** A duration in words of the language, in its one or two largest units. */
export function durationOf(seconds: number, language: string): string {
  const units: [number, string][] = [
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ];
  const largest = units.findIndex(([size]) => seconds >= size);
  const at = largest < 0 ? units.length - 1 : largest;
  let rest = Math.round(seconds);
  const parts: string[] = [];
  for (const [size, unit] of units.slice(at, at + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || parts.length === 0) {
      parts.push(
        new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(count),
      );
    }
  }
  return parts.join(' ');
}
