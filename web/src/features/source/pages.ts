import { decode } from './reading';

/** A page of a file, and what a span of the text has of it. */
export interface PagePassage {
  page: number;
  text: string;
}

interface Part {
  offset: number;
  page?: number | null;
}

/** The pages that a span touches, in order, each with its part of the span. */
export function passagesOf(parts: Part[], bytes: Uint8Array, [start, end]: [number, number]): PagePassage[] {
  return parts.flatMap(({ offset, page }, at) => {
    const from = Math.max(start, offset);
    const to = Math.min(end, parts[at + 1]?.offset ?? bytes.length);
    return page == null || from >= to ? [] : [{ page, text: decode(bytes.subarray(from, to)) }];
  });
}
