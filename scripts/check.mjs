// The checks that need no test runner: types, style, import rules, unused files, documented public types, file sizes,
// a current manifest.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { main, quietStep, root } from './steps.mjs';

const tool = (name, file, ...args) =>
  quietStep(name, process.execPath, [path.join(root, 'node_modules', file), ...args]);

export const checks = [
  () => tool('types', 'typescript/bin/tsc', '-p', 'tsconfig.json'),
  () => tool('style', '@biomejs/biome/bin/biome', 'ci', '--colors=off', '.'),
  () =>
    tool('import rules', 'dependency-cruiser/bin/dependency-cruise.mjs', 'src', '--config', '.dependency-cruiser.json'),
  () => tool('unused files, exports and dependencies', 'knip/bin/knip.js'),
  () => tool('documented public types', 'typedoc/bin/typedoc', '--emit', 'none'),
  fileSizes,
  manifestIsCurrent,
];

/** A core file over 400 lines, or a verb over 100, is a room that got crowded. */
function fileSizes() {
  process.stderr.write('» file sizes\n');
  const limits = [
    ['src/commands', 100],
    ['src', 400],
  ];
  const crowded = limits.flatMap(([folder, limit]) =>
    readdirSync(path.join(root, folder), { recursive: true })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => [`${folder}/${file}`, readFileSync(path.join(root, folder, file), 'utf8').split('\n').length - 1])
      .filter(([, lines]) => lines > limit)
      .map(([file, lines]) => `  ${file}: ${lines} lines, at most ${limit}`),
  );
  if (crowded.length > 0) throw new Error(`These files are too long:\n${crowded.join('\n')}`);
}

/** A stale manifest hides new verbs and flags from users. The build writes it; the committed one must be that. */
function manifestIsCurrent() {
  process.stderr.write('» oclif.manifest.json is current\n');
  const committed = quietStep('  the committed manifest', 'git', ['show', 'HEAD:oclif.manifest.json']);
  const built = readFileSync(path.join(root, 'oclif.manifest.json'), 'utf8');
  if (committed.trim() !== built.trim()) {
    throw new Error('oclif.manifest.json is not the one that the build makes: run `npm run build` and commit it');
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(() => {
    for (const check of checks) check();
  });
}
