/** The server's clock is set forward while it works, as after a failover to another machine, or by somebody's hand. */
import type { ServerClock } from '../../databases/server-clock.ts'
import type { Fault } from '../fault.ts'
import { leaseMs } from '../setting.ts'

const longestMs = 300_000

/** Back it is not set: the history is in the order of the server's instants. */
export function clockFaults(clock: ServerClock | undefined): readonly Fault[] {
  if (!clock) {
    process.stderr.write('The clock of the server is not set: libfaketime (package faketime) is not installed.\n')
    return []
  }
  return [
    {
      kind: 'clock of the server set forward',
      isWide: true,
      weight: 0.34,
      inflict: async ({ random }) => {
        // Mostly by little more than a lease, sometimes by minutes.
        clock.forward(Math.round(0.5 * leaseMs + longestMs * random() ** 6))
        return 1
      },
    },
  ]
}
