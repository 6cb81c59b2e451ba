import type { ServerEvent } from '../../api/sse';
import { type Stages, reduceStages } from '../documents/progress';

/** A line of the log. */
export interface Line {
  /** Distinguishes it from all others. */
  key: number;
  /** When it arrived, in milliseconds; `undefined` if it happened before the log was opened. */
  at: number | undefined;
  /** What happened; `message` is a text of the server. */
  kind: Kind;
  tone: 'plain' | 'good' | 'warn' | 'bad';
  /** The id of the document, if it is about one. */
  document?: string | undefined;
  /** Values for its text. */
  values: Record<string, string | number>;
}

const KINDS = {
  accepted: 'plain',
  queued: 'plain',
  removed: 'plain',
  advanced: 'plain',
  chunk_failed: 'warn',
  chunk_damaged: 'warn',
  chunk_without_context: 'warn',
  finished: 'good',
  settled: 'plain',
  cancelled: 'plain',
  failed: 'bad',
  run_failed: 'bad',
  paused: 'warn',
  resumed: 'good',
  missed: 'warn',
  message: 'plain',
} as const;

export type Kind = keyof typeof KINDS;

/** A model service that indexing waits for. */
export interface Waiting {
  service: string;
  reason: string;
  /** When it is tried again, in milliseconds. */
  until: number;
}

/** Chunks that were extracted at a time. */
export interface Sample {
  at: number;
  chunks: number;
}

/** What the events have told so far. */
export interface Feed {
  lines: Line[];
  stages: Stages;
  services: Waiting[];
  samples: Sample[];
  lastEventId: string | undefined;
}

export const EMPTY: Feed = {
  lines: [],
  stages: new Map(),
  services: [],
  samples: [],
  lastEventId: undefined,
};

/** Lines that are kept. */
const MAX_LINES = 1000;
/** Samples older than this say nothing about the pace, in milliseconds. */
export const WINDOW_MS = 120_000;
/** How many lines back the progress of a document is looked for, to be replaced by its next step. */
const LOOK_BACK = 64;

let lastKey = 0;

/** Takes an event that arrived at `now` into account. */
export function reduceFeed(feed: Feed, event: ServerEvent, now: number): Feed {
  const data = fieldsOf(event.data);
  return {
    lines: linesWith(feed.lines, event.name, data, now),
    stages: reduceStages(feed.stages, event),
    services: servicesWith(feed.services, event.name, data, now),
    samples: samplesWith(feed, event.name, data, now),
    lastEventId: event.id ?? feed.lastEventId,
  };
}

/** Lines of what happened before the log was opened, as the server tells it. */
export function earlierLines(messages: string[]): Line[] {
  return messages.map(text => {
    lastKey += 1;
    return { key: lastKey, at: undefined, kind: 'message', tone: 'plain', values: { text } };
  });
}

type Fields = Record<string, string | number>;

function fieldsOf(data: string): Fields {
  const fields: unknown = JSON.parse(data);
  if (typeof fields !== 'object' || fields === null) return {};
  const plain: Fields = {};
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'number') plain[name] = value;
  }
  return plain;
}

function linesWith(lines: Line[], name: string, data: Fields, now: number): Line[] {
  // The state is shown above the log, not in it.
  if (!(name in KINDS)) return lines;
  const kind = name as Kind;
  lastKey += 1;
  const document = typeof data.document === 'string' ? data.document : undefined;
  const line: Line = { key: lastKey, at: now, kind, tone: KINDS[kind], document, values: data };
  if (kind === 'finished' && Number(data.failed) + Number(data.damaged) + Number(data.without_context) > 0) {
    line.tone = 'warn';
  }
  const before = kind === 'advanced' ? withoutStep(lines, line) : lines;
  return [...before.slice(1 - MAX_LINES), line];
}

/** The lines without the previous step of the same document in the same stage. */
function withoutStep(lines: Line[], step: Line): Line[] {
  const from = Math.max(0, lines.length - LOOK_BACK);
  const index = lines.findLastIndex(({ document }, at) => at >= from && document === step.document);
  const found = lines[index];
  const isStep = found?.kind === 'advanced' && found.values.stage === step.values.stage;
  return isStep ? lines.toSpliced(index, 1) : lines;
}

function servicesWith(services: Waiting[], name: string, data: Fields, now: number): Waiting[] {
  // A state that is sent again follows a gap, in which services may have come back.
  if (name === 'state' || name === 'run_failed') return services.length === 0 ? services : [];
  if (name !== 'paused' && name !== 'resumed') return services;
  const service = String(data.service);
  const others = services.filter(other => other.service !== service);
  if (name === 'resumed') return others;
  return [...others, { service, reason: String(data.reason), until: now + Number(data.retry_in_ms) }];
}

function samplesWith({ samples, stages }: Feed, name: string, data: Fields, now: number): Sample[] {
  if (name !== 'advanced' || data.stage !== 'extract') return samples;
  const before = stages.get(String(data.document));
  // Of a document that was under way when the log was opened, only this step is known.
  const done = before?.stage === 'extract' ? before.done : Number(data.done) - 1;
  const chunks = Math.max(0, Number(data.done) - done);
  return [...samples.filter(({ at }) => at > now - WINDOW_MS), { at: now, chunks }];
}
