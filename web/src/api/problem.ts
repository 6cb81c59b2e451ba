import type { components } from './schema';

type ProblemBody = components['schemas']['ProblemBody'];

/** Why a request has no result, in words for people. */
export class Problem extends Error {
  /** The status code; 0 if the server cannot be reached. */
  readonly status: number;
  /** What to do about it, if the server says so. */
  readonly remedy: string | undefined;
  /** Seconds after which to try again, if the server says so. */
  readonly retryAfter: number | undefined;

  constructor(status: number, message: string, remedy?: string, retryAfter?: number) {
    super(message);
    this.name = 'Problem';
    this.status = status;
    this.remedy = remedy;
    this.retryAfter = retryAfter;
  }

  /** Whether the credential is missing or not accepted. */
  get isUnauthenticated(): boolean {
    return (
      this.status === 401 || (this.status === 403 && /^(API Key required|Invalid API Key)/.test(this.message))
    );
  }

  /** Whether the credential is known and lacks the right. */
  get isForbidden(): boolean {
    return this.status === 403 && !this.isUnauthenticated;
  }

  /** Whether the server cannot be reached. */
  get isOffline(): boolean {
    return this.status === 0;
  }
}

/** A problem from an error of any kind. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, error instanceof Error ? error.message : String(error));
}

/** A problem from the body of a response or of an `error` event. */
export function problemFrom(status: number, body: unknown, retryAfter?: number): Problem {
  if (!isProblemBody(body)) return new Problem(status, `The server answered with status ${status}.`);
  const { detail } = body;
  const message =
    typeof detail === 'string'
      ? detail
      : detail.map(fault => `${fault.loc.slice(1).join('.')}: ${fault.msg}`).join('\n');
  return new Problem(status, message, body.remedy ?? undefined, retryAfter);
}

function isProblemBody(body: unknown): body is ProblemBody {
  return typeof body === 'object' && body !== null && 'detail' in body;
}
