/** Prometheus' own checker, where it is installed: `apt-get install prometheus`. */
import { execFileSync, spawnSync } from 'node:child_process'

export const hasPromtool: boolean = spawnSync('promtool', ['--version']).status === 0

/** Skips a test where there is no promtool, unless REQUIRE_PROMTOOL is set, as in CI. */
export const withoutPromtool: boolean = !hasPromtool && !process.env['REQUIRE_PROMTOOL']

/** @throws Error with what promtool has said, if it finds a fault */
export function promtool(args: readonly string[], input = ''): string {
  return execFileSync('promtool', args, { input, encoding: 'utf8' })
}
