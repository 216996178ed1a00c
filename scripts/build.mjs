// Builds dist/: one entry a verb with shared chunks, the library, declarations, and oclif.manifest.json.
// Why a bundle: unbundled oclif costs as much start-up time as Node itself (see docs/decisions).
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
rmSync('dist', { recursive: true, force: true });

const commands = readdirSync('src/commands', { recursive: true })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => `src/commands/${file}`);

const shared = {
  outbase: 'src',
  outdir: 'dist',
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
  banner: {
    // oclif and its dependencies are CommonJS: inside an ES module they need a require and a place to stand.
    js: [
      "import {createRequire as __createRequire} from 'node:module';",
      "import {fileURLToPath as __toPath} from 'node:url';",
      "import {dirname as __toDir} from 'node:path';",
      'const require=__createRequire(import.meta.url),__filename=__toPath(import.meta.url),__dirname=__toDir(__filename);',
    ].join(''),
  },
};

const { metafile } = await build({
  ...shared,
  metafile: true,
  entryPoints: ['src/cli/main.ts', ...commands],
  chunkNames: 'chunks/[name]-[hash]',
  // proto-loader finds `long` at run time, from its own place; oclif asks for typescript only to load sources.
  external: ['@grpc/proto-loader', 'ink', 'react', 'typescript'],
});
// etcd3 reads its messages from ../proto, as seen from its code: that is in dist/chunks now.
cpSync('node_modules/etcd3/proto', 'dist/proto', { recursive: true });

await build({
  ...shared,
  entryPoints: ['src/index.ts'],
  chunkNames: 'chunks/library-[name]-[hash]',
  // The host program and the library must use the one instance of grpc-js.
  packages: 'external',
});

writeFileSync('dist/THIRD-PARTY-NOTICES.txt', notices(Object.keys(metafile.inputs)));
run('tsc', ['-p', 'tsconfig.types.json']);
run('oclif', ['manifest']);
writeFileSync('dist/.built', '');

/** The licences of what is inside the bundle: their terms ask that they travel with the code. */
function notices(inputs) {
  const packages = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...packages]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
      const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
      return `${name} ${version} (${license})\n\n${file ? readFileSync(`${folder}/${file}`, 'utf8').trim() : ''}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

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
