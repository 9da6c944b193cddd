import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { ConsoleOptions } from '../console/run-console.ts'
import { integer, withDatabase } from '../core/options.ts'

export function addConsole(program: Command): void {
  withDatabase(program.command('console').description('serve the console to a browser on this machine, until Ctrl-C'))
    .option('--port <port>', 'where to listen; 0 for any that is free', toPort, 4780)
    .option('--host <address>', 'listen at another address too; needs --token-file', '127.0.0.1')
    .option('--token-file <path>', `a file with a token, 24 characters or more, that opens the API to programs`)
    .option('--read-only', 'nobody may change anything')
    .option('--open', 'open the link in a browser')
    .addHelpText(
      'after',
      `
The printed link opens the console once, within a minute. Enter prints another one.

Examples:
  taskstream console --open
  taskstream console --port 0 --read-only`,
    )
    .action(async (options: ConsoleOptions) => {
      // A server is loaded only where one is asked for.
      const { runConsole } = await import('../console/run-console.ts')
      await runConsole(options)
    })
}

function toPort(text: string): number {
  const port = integer(text)
  if (port < 0 || port > 65_535) throw new InvalidArgumentError('It must be a port, 0 to 65535.')
  return port
}
