// Builds dist/: the library, one entry a verb, shared chunks, declarations, and oclif.manifest.json.
// Why a bundle: unbundled oclif costs as much start-up time as Node itself (see docs/decisions).
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
rmSync('dist', { recursive: true, force: true });

const commands = readdirSync('src/commands', { recursive: true })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => `src/commands/${file}`);

await build({
  entryPoints: ['src/index.ts', 'src/cli/main.ts', ...commands],
  outbase: 'src',
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: false,
  legalComments: 'none',
  minifySyntax: true,
  minifyWhitespace: true,
  jsx: 'automatic',
  // etcd3 reads .proto files beside its own code; grpc-js must be the one instance that the host program uses too;
  // oclif only asks for typescript when it loads a project's sources.
  external: ['etcd3', '@grpc/grpc-js', '@grpc/proto-loader', 'ink', 'react', 'typescript'],
  banner: {
    // oclif and its dependencies are CommonJS: inside an ES module they need a require and a place to stand.
    js: [
      "import {createRequire as __createRequire} from 'node:module';",
      "import {fileURLToPath as __toPath} from 'node:url';",
      "import {dirname as __toDir} from 'node:path';",
      'const require=__createRequire(import.meta.url),__filename=__toPath(import.meta.url),__dirname=__toDir(__filename);',
    ].join(''),
  },
});

run('tsc', ['-p', 'tsconfig.types.json']);
run('oclif', ['manifest']);
writeFileSync('dist/.built', '');

function run(tool, args) {
  const done = spawnSync(process.execPath, [`node_modules/${binOf(tool)}`, ...args], { encoding: 'utf8' });
  if (done.status !== 0) {
    process.stderr.write(`${tool} ${args.join(' ')} failed:\n${done.stdout}${done.stderr}`);
    process.exit(1);
  }
}

function binOf(tool) {
  return { tsc: 'typescript/bin/tsc', oclif: 'oclif/bin/run.js' }[tool];
}
