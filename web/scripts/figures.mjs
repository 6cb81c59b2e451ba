// Measures the built UI in Chromium: node scripts/figures.mjs URL [ENTITY], with a server that has indexed samples/lab.
//
// A proxy in front of the server answers what would take hours to index: 50,000 documents, parts of a graph with 300 and 10,000 entities,
// and an answer of 5,000 tokens. Everything else is the server's. With ENTITY, which has as many around it, the parts are the server's too.
import { createServer, request } from 'node:http';
import { chromium } from 'playwright-core';

const target = new URL(process.argv[2] ?? 'http://127.0.0.1:9621');
const DOCUMENTS = 50_000;
const ENTITY = process.argv[3];
const PARTS = [300, 10_000];
const CLICKS = 5;
const TOKENS = 5000;
const TOKENS_PER_SECOND = 500;

const json = (response, body) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

const counts = { all: DOCUMENTS, processed: DOCUMENTS, pending: 0, processing: 0, failed: 0 };

function page(response, body) {
  const { page, page_size: size } = JSON.parse(body);
  const total_pages = Math.ceil(DOCUMENTS / size);
  const documents = Array.from({ length: Math.min(size, DOCUMENTS - (page - 1) * size) }, (_, row) => {
    const number = (page - 1) * size + row;
    const at = new Date(1.7e12 + number * 1000).toISOString();
    return {
      id: `doc-${number}`,
      content_summary: `Document ${number} about the weather of Weirholm and of other places.`,
      content_length: 1000 + number,
      status: 'processed',
      created_at: at,
      updated_at: at,
      track_id: null,
      chunks_count: 3,
      error_msg: null,
      remarks: [],
      metadata: {},
      file_path: `reports/${number}/weather.md`,
    };
  });
  const pagination = {
    page,
    page_size: size,
    total_count: DOCUMENTS,
    total_pages,
    has_next: page < total_pages,
    has_prev: page > 1,
  };
  json(response, { documents, pagination, status_counts: counts });
}

/** A part of a graph in which entities have about three relations, most of them with entities near them, and a few hubs have many. */
function picture(response, count) {
  const relations = Array.from({ length: Math.round(1.5 * count) }, (_, number) => {
    const source = number % count;
    const target =
      number % 5 === 0 ? (number * 7919) % Math.ceil(count / 50) : (source + 1 + (number % 17)) % count;
    return { source, target };
  }).filter(({ source, target }) => source !== target);
  const round = number => Math.round(number * 10) / 10;
  const radius = number => 12 * Math.sqrt(number);
  json(response, {
    names: Array.from({ length: count }, (_, number) => `Entity ${number}`),
    kinds: Array.from({ length: 6 }, (_, number) => `Kind ${number}`),
    kind_of: Array.from({ length: count }, (_, number) => number % 6),
    x: Array.from({ length: count }, (_, number) => round(radius(number) * Math.cos(number * 2.4))),
    y: Array.from({ length: count }, (_, number) => round(radius(number) * Math.sin(number * 2.4))),
    source: relations.map(({ source }) => source),
    target: relations.map(({ target }) => target),
    weight: relations.map(() => 1),
    is_truncated: true,
    total: 10 * count,
  });
}

/** What the pane of an entity shows. */
function neighbourhood(response) {
  const node = id => ({
    id,
    labels: [id],
    properties: {
      entity_id: id,
      entity_type: 'Kind 0',
      description: 'A place.',
      source_id: '',
      file_path: '',
    },
  });
  const names = Array.from({ length: 20 }, (_, number) => `Entity ${number}`);
  const edges = names.slice(1).map(target => ({
    id: target,
    type: 'DIRECTED',
    source: 'Entity 0',
    target,
    properties: { weight: 1, description: 'near', keywords: 'near', source_id: '', file_path: '' },
  }));
  json(response, { nodes: names.map(node), edges, is_truncated: false });
}

async function answer(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (name, data) => response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  send('context', {
    mode: 'mix',
    references: [],
    chunks: [],
    entities: 0,
    relationships: 0,
    high_level_keywords: [],
    low_level_keywords: [],
    notes: [],
  });
  let text = '';
  for (let sent = 0; sent < TOKENS; sent += 25) {
    for (let token = sent; token < sent + 25; token += 1) {
      const piece =
        token % 100 === 99
          ? `end [${(token % 7) + 1}].\n\n${token % 500 === 499 ? '## Heading\n\n- a\n- b\n\n' : ''}`
          : `word${token % 13} `;
      text += piece;
      send('delta', { text: piece });
    }
    await new Promise(resolve => setTimeout(resolve, 25_000 / TOKENS_PER_SECOND));
  }
  send('usage', {
    calls: 1,
    prompt_tokens: 9000,
    cached_prompt_tokens: 0,
    completion_tokens: TOKENS,
    cost: null,
  });
  send('done', {
    response: text,
    llm_generated: true,
    answer_kind: 'answer',
    citations: 0,
    marks: [],
    response_time: 10,
  });
  response.end();
}

const proxy = createServer((incoming, response) => {
  const chunks = [];
  incoming.on('data', chunk => chunks.push(chunk));
  incoming.on('end', () => {
    const body = Buffer.concat(chunks);
    const path = incoming.url.split('?')[0];
    if (path === '/documents/paginated') return page(response, body.toString());
    if (path === '/documents/status_counts') return json(response, { status_counts: counts });
    if (ENTITY === undefined && path === '/graphs') return neighbourhood(response);
    if (ENTITY === undefined && path === '/graph/picture')
      return picture(response, Number(new URL(incoming.url, origin).searchParams.get('max_nodes')));
    if (path === '/query/events') return void answer(response);
    const headers = { ...incoming.headers, host: target.host };
    delete headers.origin;
    const forwarded = request(
      { host: target.hostname, port: target.port, path: incoming.url, method: incoming.method, headers },
      found => {
        response.writeHead(found.statusCode, found.headers);
        found.pipe(response);
      },
    );
    // A stream of events ends when the browser leaves it.
    response.on('close', () => forwarded.destroy());
    forwarded.end(body);
  });
});
await new Promise(resolve => proxy.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${proxy.address().port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});

let violations = 0;
let foreign = 0;

async function opened(path) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
  page.on('console', message => {
    if (/Content Security Policy/.test(message.text())) violations += 1;
  });
  page.on('request', made => {
    if (!made.url().startsWith(origin) && !made.url().startsWith('data:')) foreign += 1;
  });
  await page.addInitScript(() => {
    globalThis.tasks = [];
    new PerformanceObserver(list =>
      globalThis.tasks.push(...list.getEntries().map(task => task.duration)),
    ).observe({
      type: 'longtask',
      buffered: true,
    });
  });
  await page.goto(`${origin}/ui${path}`);
  return page;
}

/** The longest task since `reset`, in milliseconds; tasks of less than 50 ms are not reported by the browser. */
const longest = page => page.evaluate(() => Math.max(0, ...globalThis.tasks));
const reset = page => page.evaluate(() => void (globalThis.tasks.length = 0));
const told = (what, value) => console.log(`${what.padEnd(64)}${value}`);
const task = ms => (ms === 0 ? 'under 50 ms' : `${Math.round(ms)} ms`);

{
  const page = await opened('/documents');
  await page.getByRole('link', { name: 'reports/0/weather.md' }).waitFor();
  await page.waitForTimeout(500);
  await reset(page);
  await page.mouse.move(700, 500);
  for (let step = 0; step < 120; step += 1) {
    await page.mouse.wheel(0, step % 10 === 9 ? 200_000 : 1500);
    await page.waitForTimeout(30);
  }
  await page.waitForTimeout(500);
  told('50,000 documents: longest task while scrolling', task(await longest(page)));
  told('50,000 documents: rows in the page', await page.getByRole('row').count());
  await page.close();
}
for (const count of PARTS) {
  const page = await opened('/graph');
  await page.getByRole('combobox').waitFor();
  const query = new URLSearchParams({ entity: ENTITY ?? 'Entity 0', most: String(count) });
  const drawn = async () => {
    await page.locator('[role=img][data-ready=true]').waitFor();
    await page.evaluate(
      () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
  };
  const began = Date.now();
  await page.goto(`${origin}/ui/graph?${query}`);
  await drawn();
  told(`${count} entities: from a new page to the drawn graph`, `${Date.now() - began} ms`);
  if (ENTITY !== undefined) {
    // The browser has what it read for half a minute; this asks the server.
    const asked = new URLSearchParams({ label: ENTITY, max_depth: '6', max_nodes: String(count - 1) });
    for (const which of ['made', 'kept']) {
      const at = Date.now();
      await (await fetch(`${origin}/graph/picture?${asked}`)).arrayBuffer();
      told(`${count} entities: a picture that the server ${which}`, `${Date.now() - at} ms`);
    }
  }
  const times = [];
  for (let click = 0; click < CLICKS; click += 1) {
    await page.getByRole('link', { name: 'Graph' }).click();
    await page.getByRole('combobox').waitFor();
    const again = Date.now();
    await page.goBack();
    await drawn();
    times.push(Date.now() - again);
  }
  times.sort((a, b) => a - b);
  told(
    `${count} entities: from a click to the drawn graph, median of ${CLICKS}`,
    `${times[(CLICKS - 1) / 2]} ms`,
  );
  await page.close();
}
{
  const page = await opened('/');
  await page.getByRole('textbox').waitFor();
  await page.waitForTimeout(500);
  await reset(page);
  await page.getByRole('textbox').fill('Tell me everything.');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Ask again' }).waitFor({ timeout: 120_000 });
  told('5,000 tokens: longest task while streaming', task(await longest(page)));
  await page.close();
}
told('violations of the content security policy', violations);
told('requests to other origins', foreign);
await browser.close();
proxy.close();
