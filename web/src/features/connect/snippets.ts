/** Where programs reach this server, and what they show it. */
export interface Connection {
  /** Base of the API without a workspace, with a slash at the end. */
  server: string;
  /** Base of the API of the workspace of this page, with a slash at the end. */
  api: string;
  workspace: string;
  /** What stands for the key; `undefined` if the server asks for none. */
  key: string | undefined;
}

/** A text to copy. */
export interface Snippet {
  /** What it is: a command, the content of a file, a program, or one value of a form. */
  kind: 'shell' | 'json' | 'python' | 'value';
  /** The file it belongs into, or the name of the form's field. */
  place?: string;
  code: string;
}

/** What stands for a key in snippets. */
export const KEY_PLACEHOLDER = 'YOUR_KEY';
/** What stands for the data folder, which the server does not tell. */
export const DATA_PLACEHOLDER = '/path/to/.graphloom';
/** The OpenAI clients insist on a key; a server without keys accepts any. */
const NO_KEY = 'none';

export type Client =
  'claude-code' | 'claude-desktop' | 'cursor' | 'open-webui' | 'langchain' | 'python' | 'curl';

/** The programs, in the order of the page. */
export const CLIENTS: Client[] = [
  'claude-code',
  'claude-desktop',
  'cursor',
  'open-webui',
  'langchain',
  'python',
  'curl',
];

/** The set-up of each program, one text for each step. */
export function snippetsOf(client: Client, connection: Connection): Snippet[] {
  const { server, api, workspace, key } = connection;
  const mcp = `${api}mcp`;
  const openai = `${server}v1`;
  const model = `${workspace}:auto`;
  const question = 'What are these documents about?';
  switch (client) {
    case 'claude-code': {
      const header = key === undefined ? '' : ` \\\n  --header ${quoted(`Authorization: Bearer ${key}`)}`;
      return [
        { kind: 'shell', code: `claude mcp add --transport http graphloom ${quoted(mcp)}${header}` },
        { kind: 'json', place: '.mcp.json', code: remote(mcp, key) },
      ];
    }
    case 'claude-desktop':
      return [{ kind: 'json', place: 'claude_desktop_config.json', code: local(workspace) }];
    case 'cursor':
      return [{ kind: 'json', place: '~/.cursor/mcp.json', code: remote(mcp, key) }];
    case 'open-webui':
      return [
        { kind: 'value', place: 'URL', code: openai },
        { kind: 'value', place: 'API Key', code: key ?? NO_KEY },
        { kind: 'value', place: 'Model IDs', code: model },
      ];
    case 'langchain':
      return [
        { kind: 'shell', code: 'pip install langchain-openai' },
        {
          kind: 'python',
          code: `from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    base_url=${text(openai)},
    api_key=${text(key ?? NO_KEY)},
    model=${text(model)},
)
print(llm.invoke(${text(question)}).content)`,
        },
      ];
    case 'python':
      return [
        {
          kind: 'python',
          code: `import json
from urllib.request import Request, urlopen

request = Request(
    ${text(`${api}query`)},
    data=json.dumps({"query": ${text(question)}}).encode(),
    headers={
        "Content-Type": "application/json",${key === undefined ? '' : `\n        "X-API-Key": ${text(key)},`}
    },
)
with urlopen(request) as response:
    answer = json.load(response)
print(answer["response"])
for citation in answer["citations"]:
    print(citation["file_path"], citation["quote"])`,
        },
      ];
    case 'curl': {
      const header = key === undefined ? '' : ` \\\n  -H ${quoted(`X-API-Key: ${key}`)}`;
      return [
        {
          kind: 'shell',
          code: `curl -s ${quoted(`${api}query`)}${header} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify({ query: question }))}`,
        },
        {
          kind: 'shell',
          code: `curl -s ${quoted(`${api}documents/upload`)}${header} \\\n  -F file=@notes.md`,
        },
      ];
    }
  }
}

/** The entry of a server for clients of MCP that speak HTTP. */
function remote(url: string, key: string | undefined): string {
  const headers = key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } };
  return json({ mcpServers: { graphloom: { type: 'http', url, ...headers } } });
}

/** The entry of a program that the client starts on the machine of the documents. */
function local(workspace: string): string {
  const args = ['mcp', '--read-only', '--data-dir', DATA_PLACEHOLDER, '--workspace', workspace];
  return json({ mcpServers: { graphloom: { command: 'graphloom', args } } });
}

function json(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** A text as one word of a POSIX shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A text as a literal of Python, whose double-quoted texts have all escapes of JSON's. */
function text(value: string): string {
  return JSON.stringify(value);
}
