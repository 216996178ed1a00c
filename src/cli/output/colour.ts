import { wantsColour } from '../../core/model/wants-colour.js';

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

/** chalk is loaded only where colours are shown: a pipe need not wait for it. */
export async function createStyle(isTerminal: boolean, env: Environment): Promise<Style> {
  if (!wantsColour(isTerminal, env)) return plainStyle;
  const { Chalk } = await import('chalk');
  return new Chalk({ level: 1 });
}
