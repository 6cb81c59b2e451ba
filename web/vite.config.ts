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

export default defineConfig(({ command }) => ({
  plugins: [react(), base],
  // Built pages are relative, so that they also work below /w/NAME/ and behind a proxy that adds a prefix.
  base: command === 'build' ? './' : '/ui/',
  build: {
    outDir: '../crates/server/ui/dist',
    emptyOutDir: true,
    target: 'es2022',
    // Data URLs would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '^/(?!ui/)': { target: SERVER } } },
  test: { include: ['src/**/*.test.ts'] },
}));
