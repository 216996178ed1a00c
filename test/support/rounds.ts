/** How often a case of chance is tried: `LBCTL_TEST_ROUNDS=all` tries it as often as it is judged by. */
export function rounds(usual: number, all: number): number {
  return process.env.LBCTL_TEST_ROUNDS === 'all' ? all : usual;
}
