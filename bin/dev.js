#!/usr/bin/env -S node --import tsx
process.env.NODE_ENV ??= 'development';
const { main } = await import('../src/cli/main.ts');
await main(import.meta.url, { development: true });
