/** NO_COLOR (any value) and TERM=dumb say no, FORCE_COLOR says yes (0 or false: no); otherwise a terminal decides. */
export function wantsColour(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR) return false;
  const forced = env.FORCE_COLOR;
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal && env.TERM !== 'dumb';
}
