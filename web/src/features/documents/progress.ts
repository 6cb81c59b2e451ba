import type { ServerEvent } from '../../api/sse';

/** How far a document has come in a stage. */
export interface Stage {
  stage: 'contextualize' | 'chunk' | 'extract' | 'merge';
  done: number;
  total: number;
}

/** The stages of the documents that are being indexed, by id. */
export type Stages = ReadonlyMap<string, Stage>;

const STAGES = ['contextualize', 'chunk', 'extract', 'merge'];

/** Takes an event of the jobs into account. Events that change no stage return the same map. */
export function reduceStages(stages: Stages, { name, data }: ServerEvent): Stages {
  const event: unknown = JSON.parse(data);
  if (
    typeof event !== 'object' ||
    event === null ||
    !('document' in event) ||
    typeof event.document !== 'string'
  )
    return stages;
  const { document } = event;
  if (name === 'advanced') {
    const stage = stageOf(event);
    return stage ? new Map(stages).set(document, stage) : stages;
  }
  const isOver = ['finished', 'failed', 'cancelled', 'removed'].includes(name);
  if (!isOver || !stages.has(document)) return stages;
  const rest = new Map(stages);
  rest.delete(document);
  return rest;
}

function stageOf(event: object): Stage | undefined {
  if (!('stage' in event && 'done' in event && 'total' in event)) return undefined;
  const { stage, done, total } = event;
  if (
    typeof stage !== 'string' ||
    !STAGES.includes(stage) ||
    typeof done !== 'number' ||
    typeof total !== 'number'
  )
    return undefined;
  return { stage: stage as Stage['stage'], done, total };
}
