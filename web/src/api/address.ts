/** Where the UI and the API are, from the page's own address: `[PREFIX/][w/WORKSPACE/]ui/PAGE`. */
export interface Address {
  /** Base of the UI's paths, without a slash at the end. */
  ui: string;
  /** Base of the API's routes, with a slash at the end. */
  api: string;
  /** The workspace in the address; `undefined` for the server's default one. */
  workspace: string | undefined;
  /** Base of the address without a workspace, with a slash at the end. */
  server: string;
}

/** Reads the address from the URL of the page's `<base>`, which ends in `ui/`. */
export function addressOf(base: string): Address {
  const api = new URL('..', base);
  const named = /\/w\/([^/]+)\/$/.exec(api.pathname);
  const server = named ? new URL('../../', api) : api;
  return {
    ui: new URL('.', base).pathname.replace(/\/$/, ''),
    api: api.href,
    workspace: named?.[1] === undefined ? undefined : decodeURIComponent(named[1]),
    server: server.href,
  };
}

/** The address of the UI in another workspace. */
export function uiOf(address: Address, workspace: string): string {
  return `${apiOf(address, workspace)}ui/`;
}

/** Base of the API's routes in another workspace, with a slash at the end. */
export function apiOf(address: Address, workspace: string): string {
  return `${address.server}w/${encodeURIComponent(workspace)}/`;
}
