/** Serves the console until it is asked to stop. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { openDatabase } from '../core/database.ts'
import { explain } from '../core/explain.ts'
import { CommandError } from '../core/exit-codes.ts'
import { whileStoppable } from '../core/interrupt.ts'
import { personOf } from '../core/person.ts'
import { withoutSecrets } from '../core/secrets.ts'
import type { SourceOptions } from '../core/source.ts'
import { isLoopback } from '../core/loopback.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { serve } from './serve.ts'

export interface ConsoleOptions extends SourceOptions {
  readonly port: number
  readonly host: string
  readonly tokenFile?: string
  readonly readOnly?: boolean
  readonly open?: boolean
}

/** A shorter token can be guessed. */
const leastToken = 24

/** @throws CommandError usage */
export async function runConsole(options: ConsoleOptions): Promise<void> {
  const { port, host, readOnly = false } = options
  const token = tokenOf(options)
  await using database = await openDatabase(options)
  // A file has one connection, on which no two pages can be read at a time.
  const [reading, transactions] = oneAtATime(database.reading, database.transactions)
  await using served = await serve({
    repository: database.tasks,
    reading: reading!,
    transactions: transactions!,
    host,
    port,
    isReadOnly: readOnly,
    person: personOf(),
    ...(token !== undefined && { token }),
    ...(database.context && { environment: database.context.name.slice(0, 40) }),
    onError: (error) => console.error(withoutSecrets(explain(error))),
  })
  const address = served.address()
  console.log(`${database.place}: ${address}`)
  if (options.open) open(address)
  if (process.stdin.isTTY) process.stdin.on('data', () => console.log(served.address()))
  await whileStoppable(async (signal) => void (await once(signal, 'abort')))
  process.stdin.pause()
}

/** @throws CommandError usage */
function tokenOf({ host, tokenFile }: ConsoleOptions): string | undefined {
  if (tokenFile === undefined) {
    if (isLoopback(host)) return undefined
    throw new CommandError(
      'usage',
      `others can reach ${host}: give --token-file with a token that opens the console to them, or listen at 127.0.0.1`,
    )
  }
  const token = read(tokenFile).trim()
  if (token.length < leastToken)
    throw new CommandError(
      'usage',
      `the token in ${tokenFile} has ${token.length} characters, and needs ${leastToken}: make one with openssl rand -base64 32`,
    )
  return token
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandError('usage', `cannot read the token in ${path} (${(error as NodeJS.ErrnoException).code})`)
  }
}

function open(address: string): void {
  const [program, ...args] = { darwin: ['open'], win32: ['rundll32', 'url.dll,FileProtocolHandler'] }[
    process.platform as 'darwin' | 'win32'
  ] ?? ['xdg-open']
  const child = spawn(program!, [...args, address], { stdio: 'ignore', detached: true })
  // The link is printed, so that nothing is lost without a browser.
  child.on('error', () => {})
  child.unref()
}
