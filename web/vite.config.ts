import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** The server that `npm run dev` talks to. */
const SERVER = process.env.GRAPHLOOM_SERVER ?? 'http://127.0.0.1:9621';

/** Does what the server does for built pages: says where the UI begins, so that deep links resolve. */
const base: Plugin = {
  name: 'base-of-dev-pages',
  apply: 'serve',
  transformIndexHtml: html => html.replace('<base href="./" />', '<base href="/ui/" />'),
};

/**
 * Names the files of every page that is loaded when it is opened in `index.html`, each as `data-page`. The server keeps those of the page
 * that is asked for, so that a browser loads them together with the first load and not after it has run.
 */
const preloads: Plugin = {
  name: 'preloads-of-pages',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle = {} }) {
      const chunks = Object.values(bundle).filter(file => file.type === 'chunk');
      const filesOf = (name: string): string[] => {
        const chunk = chunks.find(({ fileName }) => fileName === name);
        if (!chunk || html.includes(name)) return [];
        return [name, ...(chunk.viteMetadata?.importedCss ?? []), ...chunk.imports.flatMap(filesOf)];
      };
      const opened = chunks.find(({ isEntry }) => isEntry)?.dynamicImports ?? [];
      const links = opened.flatMap(fileName => {
        const module = chunks.find(chunk => chunk.fileName === fileName)?.facadeModuleId;
        const page = /\/features\/(\w+)\/page\.tsx$/.exec(module ?? '')?.[1];
        return page === undefined ? [] : [...new Set(filesOf(fileName))].map(file => linkOf(page, file));
      });
      return html.replace('  </head>', `${links.join('')}  </head>`);
    },
  },
};

function linkOf(page: string, file: string): string {
  const kind = file.endsWith('.css') ? 'rel="preload" as="style"' : 'rel="modulepreload"';
  return `    <link data-page="${page}" ${kind} crossorigin href="./${file}" />\n`;
}

export default defineConfig(({ command }) => ({
  plugins: [react(), base, preloads],
  // Built pages are relative, so that they also work below /w/NAME/ and behind a proxy that adds a prefix.
  base: command === 'build' ? './' : '/ui/',
  build: {
    outDir: '../crates/server/ui/dist',
    emptyOutDir: true,
    target: 'es2022',
    // Data URLs would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One script and one style for the first load: a browser asks for six files at a time.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
  server: { proxy: { '^/(?!ui/)': { target: SERVER } } },
  test: { include: ['src/**/*.test.ts'] },
}));
