#!/usr/bin/env node
// Verbs from their TypeScript sources; which verbs there are, and their help, from the last build.
import { register } from 'tsx/esm/api';

register();
process.env.NODE_ENV ??= 'development';
const { main } = await import('../src/cli/main.ts');
await main(import.meta.url, { loadVerb: (id) => import(new URL(`../src/commands/${id}.ts`, import.meta.url).href) });
