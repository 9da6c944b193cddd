/** What Ctrl-C does: it ends the process, with the code that shells give to it. */
import { exitCodes } from './exit-codes.ts'

export function onInterrupt(): void {
  process.exit(exitCodes.interrupted)
}
