import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const slow = ['test/contract/**', 'test/e2e/**', 'test/load/**', 'test/faults/**', 'test/interop/**'];
// CI machines are shared: one that stalls for a second may fail a test once, not twice.
const shared = { disableConsoleIntercept: true, passWithNoTests: false, retry: process.env.CI ? 1 : 0 };

export default defineConfig({
  test: {
    // Most of it waits for processes and clocks: by default two cores would get one file at a time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: slow,
          testTimeout: 20_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Hundreds of calls a second: beside anything else on two cores they measure that.
        test: {
          ...shared,
          name: 'load',
          include: ['test/load/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
      {
        // Two faults at a time, whatever the machine: each is six processes that wait, and must agree within 5 s.
        test: {
          ...shared,
          // Six processes a case, on a machine that is shared: one of forty stumbles more often.
          retry: process.env.CI ? 2 : 0,
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Programs in Go beside ours; skipped where there is no Go to build them.
        test: {
          ...shared,
          name: 'interop',
          include: ['test/interop/**/*.test.ts'],
          globalSetup: ['test/interop/support/build.mjs'],
          maxConcurrency: 5,
          testTimeout: 180_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
