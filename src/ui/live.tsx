import { render, useApp, useInput, useStdin } from 'ink';
import { useEffect, useState } from 'react';
import type { TrafficView } from '../core/model/traffic.js';
import { TrafficTable } from './traffic-table.js';

export interface LiveOptions {
  /** The view to draw now; called a few times a second. */
  readonly view: () => TrafficView;
  readonly hints: readonly string[];
  readonly stdout: NodeJS.WriteStream;
  /** Ends the view when it aborts. */
  readonly signal: AbortSignal;
  readonly intervalMs?: number;
}

/** Draws until the user quits (q, Ctrl-C) or the signal aborts; says which. The last frame stays on the screen. */
export async function showLive(options: LiveOptions): Promise<'quit' | 'interrupted' | 'ended'> {
  let outcome: 'quit' | 'interrupted' | 'ended' = 'ended';
  const app = render(
    <Live
      {...options}
      onQuit={(how) => {
        outcome = how;
      }}
    />,
    { stdout: options.stdout, exitOnCtrlC: false, patchConsole: false },
  );
  await app.waitUntilExit();
  return outcome;
}

function Live(props: LiveOptions & { onQuit: (how: 'quit' | 'interrupted') => void }) {
  const { exit } = useApp();
  const { isRawModeSupported } = useStdin();
  const [view, setView] = useState(props.view);
  useEffect(() => {
    const timer = setInterval(() => setView(props.view()), props.intervalMs ?? 500);
    const stop = () => exit();
    props.signal.addEventListener('abort', stop, { once: true });
    if (props.signal.aborted) stop();
    return () => {
      clearInterval(timer);
      props.signal.removeEventListener('abort', stop);
    };
  }, [props, exit]);
  useInput(
    (input, key) => {
      if (key.ctrl && input === 'c') props.onQuit('interrupted');
      else if (input === 'q') props.onQuit('quit');
      else return;
      exit();
    },
    // Undefined (no TTY) must mean no, or ink throws.
    { isActive: isRawModeSupported === true },
  );
  return (
    <TrafficTable view={view} width={props.stdout.columns ?? 80} rows={props.stdout.rows ?? 24} hints={props.hints} />
  );
}
