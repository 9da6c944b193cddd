import { checkNames, optionNames } from '@taskstream/task-api'
import { checkStopOptions } from './stop-report.ts'
import type { StopOptions, StopReport } from './stop-report.ts'

export interface StopOnSignalOptions extends StopOptions {
  /** The signals on which the node stops. Default: SIGTERM and SIGINT. */
  readonly signals?: readonly NodeJS.Signals[]
  /** Called with the report when the node has stopped. The process may end then. */
  readonly onStopped?: (report: StopReport) => void
}

const names = optionNames<StopOnSignalOptions>('stopOnSignal', {
  signals: true,
  onStopped: true,
  graceMs: true,
  abortMs: true,
  leaveMs: true,
})

/**
 * Stops a node in phases when the process gets a signal to end. A second signal ends the process at once.
 *
 * @returns an object that stops listening for the signals when it is disposed
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * using _ = stopOnSignal(node, { graceMs: 20_000 })
 */
export function stopOnSignal(
  node: { stop(options: StopOptions): Promise<StopReport> },
  options: StopOnSignalOptions = {},
): Disposable {
  checkNames(names, options)
  const { signals = ['SIGTERM', 'SIGINT'], onStopped, ...stopOptions } = options
  checkStopOptions(stopOptions)
  let asked = false
  const stop = (signal: NodeJS.Signals): void => {
    if (asked) {
      // Without our listener, the signal ends the process as it usually does.
      release()
      process.kill(process.pid, signal)
      return
    }
    asked = true
    void node.stop(stopOptions).then((report) => {
      release()
      onStopped?.(report)
    })
  }
  const release = (): void => {
    for (const signal of signals) process.off(signal, stop)
  }
  for (const signal of signals) process.on(signal, stop)
  return { [Symbol.dispose]: release }
}
