import type { DashboardSource } from '../../core/dashboard/source.js';
import { wantsColour } from '../../core/model/wants-colour.js';
import { type Look, type Style, styleFor } from './look.js';
import type { DashboardEnd, DashboardOptions } from './options.js';
import { type Painter, ScreenPainter } from './painter.js';
import { Session } from './session.js';
import { Terminal } from './terminal.js';
import { isNarrow, measureWith, narrowWidth } from './text.js';

/** Has the terminal until the user quits, the signal aborts, or the source fails; then the terminal is as it was. */
export async function showDashboard(options: DashboardOptions): Promise<DashboardEnd> {
  const { opening, signal } = options;
  const style = styleFor(wantsColour(true, process.env));
  const texts = [opening.service, opening.context, ...options.hints];
  const first: Look = { style, width: texts.every(isNarrow) ? narrowWidth : await wideMeasure() };
  const terminal = new Terminal(options.stdin, options.stdout, {
    onInput: (inputs) => session.input(inputs),
    onRedraw: () => session.redraw(),
    onGone: () => session.end('ended'),
  });
  const screen = new ScreenPainter((text) => terminal.write(text));
  const session = new Session(options, terminal, screen, first);
  const onAbort = () => session.end('ended');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let opened: Promise<DashboardSource | null> = Promise.resolve(null);
  try {
    terminal.enter();
    const ended = session.run();
    // The first frame is on its way to the terminal before anything heavy is begun.
    setImmediate(() => {
      if (session.isOver) return;
      opened = open(options, session);
      void drawWithInk(options, screen, session, style);
    });
    const how = await ended;
    return { how, frame: session.frame, commands: session.commands };
  } finally {
    signal.removeEventListener('abort', onAbort);
    session.stop();
    terminal.leave();
    await session.settled();
    await closeWhenOpen(opened);
  }
}

async function open(options: DashboardOptions, session: Session): Promise<DashboardSource | null> {
  try {
    const source = await options.open();
    session.start(source);
    return source;
  } catch (error) {
    session.fail(error);
    return null;
  }
}

/** A source that is still opening is not waited for: it may be waiting for a registry that never answers. */
async function closeWhenOpen(opened: Promise<DashboardSource | null>): Promise<void> {
  const isOpening = Symbol('opening');
  const source = await Promise.race([opened, Promise.resolve(isOpening)]);
  if (typeof source === 'symbol') void opened.then((late) => late?.close());
  else await source?.close();
}

async function drawWithInk(options: DashboardOptions, screen: Painter, session: Session, style: Style) {
  try {
    // React's development build keeps every render it timed.
    process.env.NODE_ENV ??= 'production';
    const [{ InkPainter }, width] = await Promise.all([import('./ink-painter.js'), wideMeasure()]);
    session.paintWith(new InkPainter(screen, options.stdin), { style, width });
  } catch (error) {
    session.fail(error);
  }
}

async function wideMeasure() {
  const { default: stringWidth } = await import('string-width');
  return measureWith(stringWidth);
}
