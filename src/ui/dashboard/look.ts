import { Chalk } from 'chalk';
import type { Measure } from './text.js';

type Paint = (text: string) => string;

export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly inverse: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
}

/** How text is measured and coloured. */
export interface Look {
  readonly width: Measure;
  readonly style: Style;
}

/** Level 1 of chalk: what every terminal has, in the colours that its user chose. */
export function styleFor(hasColours: boolean): Style {
  return new Chalk({ level: hasColours ? 1 : 0 });
}
