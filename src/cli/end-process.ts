const settleMs = 500;
const lookAgainMs = 10;

/**
 * Ends the process with `code`. `process.exit` waits for the threads that read files, and one whose file system does not
 * answer never ends: then the process is killed, and its exit code is the signal's, 137.
 */
export async function endProcess(code: number): Promise<never> {
  for (let waited = 0; isReading() && waited < settleMs; waited += lookAgainMs) {
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
  }
  if (isReading()) process.kill(process.pid, 'SIGKILL');
  return process.exit(code);
}

function isReading(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}
