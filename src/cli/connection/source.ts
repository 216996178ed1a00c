/** One place that settings come from. Everything is text as written; empty means unset. */
export interface Source {
  /** As a person would name it: `flags`, `LBCTL_*`, … */
  readonly name: string;
  readonly endpoints?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly skipVerify?: string | undefined;
  readonly dialTimeout?: string | undefined;
  readonly commandTimeout?: string | undefined;
}
