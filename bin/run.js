#!/usr/bin/env node
process.env.NODE_ENV ??= 'production';
const { main } = await import('../dist/cli/main.js');
await main(import.meta.url);
