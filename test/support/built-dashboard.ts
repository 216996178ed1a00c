import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** The dashboard with made-up figures as one program, bundled as the real build does it. */
export async function buildDashboard(): Promise<{ program: string; folder: string; remove(): void }> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  // Inside the project: ink is loaded from node_modules, as it is by the real build.
  const folder = mkdtempSync(path.join(root, 'node_modules', '.dashboard-'));
  await build({
    entryPoints: [path.join(root, 'test/support/synthetic-dashboard-process.ts')],
    outdir: folder,
    entryNames: 'dashboard',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    external: ['ink', 'react'],
    logLevel: 'error',
  });
  return { program: path.join(folder, 'dashboard.mjs'), folder, remove: () => rmSync(folder, { recursive: true }) };
}
