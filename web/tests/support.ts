import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type axe from 'axe-core';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const GRAPHLOOM = process.env.GRAPHLOOM ?? join(ROOT, 'target/debug/graphloom');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A server with a folder of its own, without models. */
export class Server {
  constructor(private readonly settings: NodeJS.ProcessEnv = {}) {}

  private readonly folder = mkdtempSync(join(tmpdir(), 'graphloom-ui-'));
  private child: ChildProcess | undefined;
  url = '';

  private get env(): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH,
      HOME: this.folder,
      GRAPHLOOM_DATA_DIR: join(this.folder, 'data'),
      GRAPHLOOM_CONFIG: join(this.folder, 'graphloom.toml'),
      GRAPHLOOM_LLM: 'none',
      GRAPHLOOM_EMBEDDER: 'builtin',
      ...this.settings,
    };
  }

  /** Runs a command in the folder of the server; what it prints. */
  run(...args: string[]): string {
    const options = {
      env: this.env,
      cwd: this.folder,
      encoding: 'utf8' as const,
      stdio: ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'],
    };
    // A configuration file must exist where one is named.
    execFileSync('touch', [join(this.folder, 'graphloom.toml')]);
    return execFileSync(GRAPHLOOM, args, options);
  }

  /** Starts it, on the same port as before if it ran. */
  async start(): Promise<void> {
    execFileSync('touch', [join(this.folder, 'graphloom.toml')]);
    const port = this.url === '' ? '0' : new URL(this.url).port;
    const child = spawn(GRAPHLOOM, ['serve', '--port', port], {
      env: this.env,
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.url = await new Promise<string>((resolve, reject) => {
      let said = '';
      const read = (data: Buffer) => {
        said += data.toString();
        const url = /listening on (http:\S+)/.exec(said)?.[1];
        if (url !== undefined) resolve(url);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.on('exit', () => reject(new Error(said)));
    });
  }

  async stop(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null) return;
    const over = new Promise(resolve => child.once('exit', resolve));
    child.kill('SIGTERM');
    await over;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Site {
  server: Server;
  /** Opens a page of the UI in a browser of its own. */
  open: (path: string, options?: BrowserContextOptions) => Promise<Page>;
}

/** A server and a browser for the tests of one file. Every test ends without errors on any of its pages. */
export function site(prepare?: (server: Server) => void, settings?: NodeJS.ProcessEnv): Site {
  const server = new Server(settings);
  let browser: Browser | undefined;
  const faults: string[] = [];
  beforeAll(async () => {
    prepare?.(server);
    await server.start();
    const args = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ];
    browser = await chromium.launch({ executablePath: CHROMIUM, args });
  });
  afterEach(async () => {
    await Promise.all((browser?.contexts() ?? []).map(context => context.close()));
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await server.remove();
  });
  const open = async (path: string, options: BrowserContextOptions = {}) => {
    if (!browser) throw new Error('no browser');
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: 'en-US',
      ...options,
    });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await context.newPage();
    const { origin } = new URL(server.url);
    page.on('request', request => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
        faults.push(`request to ${request.url()}`);
    });
    page.on('pageerror', error => faults.push(String(error)));
    page.on('console', message => {
      // Refused and failed requests are part of some tests; violations of the content security policy of none.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        faults.push(message.text());
    });
    await page.goto(`${server.url}/ui${path}`);
    return page;
  };
  return { server, open };
}

/** Adds the samples and waits until they are indexed. */
export async function addSamples(server: Server): Promise<void> {
  const folder = join(ROOT, 'samples/lab');
  for (const name of readdirSync(folder)) await addFile(server, name, readFileSync(join(folder, name)));
  await indexed(server);
}

/** Adds a file. */
export async function addFile(server: Server, name: string, content: Buffer | string): Promise<void> {
  const body = new FormData();
  body.append('file', new Blob([new Uint8Array(Buffer.from(content))]), name);
  const response = await fetch(`${server.url}/documents/upload`, { method: 'POST', body });
  expect(response.status, name).toBe(200);
}

/** Waits until nothing is left to index. */
export async function indexed(server: Server): Promise<void> {
  await vi.waitUntil(
    async () => {
      const response = await fetch(`${server.url}/documents/status_counts`);
      const { status_counts: counts } = (await response.json()) as { status_counts: Record<string, number> };
      return counts.pending === 0 && counts.processing === 0;
    },
    { timeout: 50_000, interval: 100 },
  );
}

/** What axe finds to be serious or critical on a page as it is. */
export async function seriousFaults(page: Page): Promise<string[]> {
  // Colours in transition have no contrast of their own.
  await page.evaluate(async () => {
    const ending = document
      .getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
  // The page's policy forbids injected script elements, so the script is evaluated.
  await page.evaluate(AXE);
  const results = await page.evaluate(
    async () => await (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  );
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html} ${node.failureSummary ?? ''}`));
}
