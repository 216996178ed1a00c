export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

const none = (text: string): string => text;
export const plainStyle: Style = { bold: none, dim: none, red: none, green: none, yellow: none };

type Environment = Readonly<Record<string, string | undefined>>;

/** NO_COLOR (any value) and TERM=dumb say no, FORCE_COLOR says yes (0 or false: no); otherwise a terminal decides. */
export function wantsColour(isTerminal: boolean, env: Environment): boolean {
  if (env.NO_COLOR) return false;
  const forced = env.FORCE_COLOR;
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal && env.TERM !== 'dumb';
}

/** chalk is loaded only where colours are shown: a pipe need not wait for it. */
export async function createStyle(isTerminal: boolean, env: Environment): Promise<Style> {
  if (!wantsColour(isTerminal, env)) return plainStyle;
  const { Chalk } = await import('chalk');
  return new Chalk({ level: 1 });
}
