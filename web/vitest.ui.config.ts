import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.ui.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A busy machine shows the same things later.
    expect: { poll: { timeout: 20_000 } },
    // One server and one browser at a time, so that times mean something on a small machine.
    fileParallelism: false,
  },
});
