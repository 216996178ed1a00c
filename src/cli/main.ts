import { flush, handle, run, settings } from '@oclif/core';

/** The way in for bin/run.js and bin/dev.js: runs the verb that the arguments name. */
export async function main(binUrl: string, options: { development?: boolean } = {}): Promise<void> {
  if (options.development) settings.debug = true;
  try {
    await run(process.argv.slice(2), binUrl);
    await flush();
  } catch (error) {
    await handle(error as Error);
  }
}
