type Environment = Readonly<Record<string, string | undefined>>;

/** Whether a live table can be drawn here, with keys from stdin. */
export function canDrawLive(env: Environment): boolean {
  return process.stdin.isTTY === true && isLiveScreen(env);
}

/** Whether stdout is a terminal that can be drawn on. */
export function isLiveScreen(env: Environment): boolean {
  return process.stdout.isTTY === true && env.TERM !== 'dumb' && !env.CI;
}
