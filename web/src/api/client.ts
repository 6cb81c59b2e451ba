import { addressOf, apiOf } from './address';
import { credential } from './credential';
import { Problem, problemFrom } from './problem';
import type { components, paths } from './schema';
import { EventReader, type ServerEvent } from './sse';

/** The types of the API. */
export type Schemas = components['schemas'];

/** Where this page and its API are. */
export const address = addressOf(document.baseURI);

type Method = 'get' | 'post' | 'delete';
type With<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Content<T> = T extends { content: infer C } ? C[keyof C] : never;

/** What a route gives on success. */
export type Result<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: { 200: infer R } } ? Content<R> : never;

/** What a route takes in its body. */
export type Body<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { requestBody: infer B } ? Content<B> : never;

type PathValues<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { parameters: { path: infer V } } ? V : undefined;
type QueryValues<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { parameters: { query?: infer V } } ? V : undefined;

interface Options<P extends keyof paths, M extends Method> {
  path?: PathValues<P, M>;
  query?: QueryValues<P, M>;
  body?: Body<P, M>;
  signal?: AbortSignal;
  /** Another workspace than that of the page. */
  workspace?: string;
}

interface Plain {
  path?: unknown;
  query?: unknown;
  body?: unknown;
  signal?: AbortSignal | undefined;
  workspace?: string | undefined;
  headers?: Record<string, string>;
}

/** Sends a GET request. Errors are a `Problem`. */
export async function get<P extends With<'get'>>(
  path: P,
  options: Options<P, 'get'> = {},
): Promise<Result<P, 'get'>> {
  return (await json(await send('GET', path, options))) as Result<P, 'get'>;
}

/** Sends a POST request with a JSON body. Errors are a `Problem`. */
export async function post<P extends With<'post'>>(
  path: P,
  options: Options<P, 'post'> = {},
): Promise<Result<P, 'post'>> {
  return (await json(await send('POST', path, options))) as Result<P, 'post'>;
}

/** Sends a DELETE request. Errors are a `Problem`. */
export async function del<P extends With<'delete'>>(
  path: P,
  options: Options<P, 'delete'> = {},
): Promise<Result<P, 'delete'>> {
  return (await json(await send('DELETE', path, options))) as Result<P, 'delete'>;
}

/** Sends a GET request and returns the bytes of its response. */
export async function getBytes<P extends With<'get'>>(
  path: P,
  options: Options<P, 'get'> = {},
): Promise<Uint8Array> {
  return new Uint8Array(await (await send('GET', path, options)).arrayBuffer());
}

/** Adds a file; a workspace that does not exist begins with it. */
export async function upload(
  file: File,
  replace: boolean,
  signal?: AbortSignal,
  workspace?: string,
): Promise<Schemas['InsertResponse']> {
  const body = new FormData();
  body.append('file', file, file.name);
  const query = replace ? { replace: true } : undefined;
  return (await json(
    await send('POST', '/documents/upload', { query, body, signal, workspace }),
  )) as Schemas['InsertResponse'];
}

/** What adding a file would cost by itself. */
export async function estimate(file: File, signal?: AbortSignal): Promise<Schemas['EstimateAnswer']> {
  const body = new FormData();
  body.append('file', file, file.name);
  return (await json(
    await send('POST', '/documents/upload/estimate', { query: { alone: true }, body, signal }),
  )) as Schemas['EstimateAnswer'];
}

/** Logs in with a name and a password; the token. */
export async function login(username: string, password: string): Promise<string> {
  const body = new URLSearchParams({ username, password });
  const answer = (await json(await send('POST', '/login', { body }))) as Schemas['AuthStatus'];
  if (answer.access_token == null) throw new Problem(500, 'The server sent no token.');
  return answer.access_token;
}

/** Checks that the server accepts a key. */
export async function verifyKey(key: string): Promise<void> {
  await send('GET', '/auth/verify', { headers: { 'x-api-key': key } });
}

/**
 * Sends a request whose response is a stream of events, and passes them on as they arrive.
 *
 * Resolves at the end of the stream; whether that was the last event is for the caller to judge.
 */
export async function stream<P extends With<M>, M extends 'get' | 'post'>(
  method: M,
  path: P,
  options: Options<P, M> & { lastEventId?: string | undefined },
  onEvent: (event: ServerEvent) => void,
): Promise<void> {
  const headers: Record<string, string> = { accept: 'text/event-stream' };
  if (options.lastEventId !== undefined) headers['last-event-id'] = options.lastEventId;
  const response = await send(method.toUpperCase(), path, { ...options, headers });
  if (!response.body) return;
  const reader = new EventReader();
  const decoder = new TextDecoder();
  const pieces = response.body.getReader();
  try {
    for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
      reader.push(decoder.decode(piece.value, { stream: true })).forEach(onEvent);
    }
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, 'The connection was lost.');
  }
}

async function send(method: string, path: string, options: Plain): Promise<Response> {
  const headers: Record<string, string> = { ...credential.headers(), ...options.headers };
  let body: BodyInit | null = null;
  if (options.body instanceof FormData || options.body instanceof URLSearchParams) {
    body = options.body;
  } else if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(urlOf(path, options), { method, headers, body, signal: options.signal ?? null });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, 'The server cannot be reached.');
  }
  credential.renew(response.headers.get('x-new-token'));
  if (response.ok) return response;
  const wait = Number(response.headers.get('retry-after'));
  const problem = problemFrom(
    response.status,
    await response.json().catch(() => undefined),
    wait || undefined,
  );
  if (problem.isUnauthenticated && path !== '/login') credential.refuse();
  throw problem;
}

/** The URL of a route, with its path parameters filled in. */
function urlOf(path: string, { path: values, query, workspace }: Plain): string {
  const given = new Map(entriesOf(values));
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(textOf(given.get(name))));
  const base = workspace === undefined ? address.api : apiOf(address, workspace);
  const url = new URL(filled.slice(1), base);
  for (const [name, value] of entriesOf(query)) {
    if (value !== undefined && value !== null) url.searchParams.set(name, textOf(value));
  }
  return url.href;
}

/** A value of a path or query parameter as text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function entriesOf(values: unknown): [string, unknown][] {
  return typeof values === 'object' && values !== null ? Object.entries(values) : [];
}

async function json(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw new Problem(response.status, 'The response of the server cannot be read.');
  }
}
