import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { integer, withCommon } from '../core/options.ts'
import { commandWords } from '../work/command-words.ts'
import { durationOption } from '../work/durations.ts'
import { readHealthAddress } from '../work/health-address.ts'
import { retryWords } from '../work/retry-words.ts'
import { readVariable } from '../work/task-environment.ts'
import type { WorkOptions } from '../work/work-options.ts'

interface Given extends Omit<WorkOptions, 'command'> {
  readonly exec?: string | undefined
  readonly shell?: true | undefined
}

export function addWork(program: Command): void {
  withCommon(program.command('work').description('handle the tasks of topics by a program, or by a service over HTTP'))
    .argument('<topic...>', 'the topics; after -- a program and its arguments, instead of --exec')
    .option('--exec <command>', 'the program and its arguments; quotes and backslashes as in a shell, nothing else of one')
    .addOption(new Option('--shell', 'have /bin/sh read the command of --exec'))
    .addOption(new Option('--http <url>', 'the service, instead of a program'))
    .option('--concurrency <count>', 'how many tasks are handled at a time, of all topics together', concurrency, 1)
    .addOption(
      new Option('--retry <policy>', "none, 'fixed(30s, 5)' or 'exponential(1s, 5min, 10)': pauses, and tries in all")
        .argParser(retryWords)
        .default(retryWords('exponential(5s, 1h, 4)'), 'exponential(5s, 1h, 4)'),
    )
    .option(
      '--timeout <duration>',
      'how long a task may take; a request 30s by default, others any time',
      durationOption('1ms', '1d'),
    )
    .addOption(
      new Option('--kill-after <duration>', 'how long a program may take to end after SIGTERM')
        .argParser(durationOption('0s', '1h'))
        .default(5_000, '5s'),
    )
    .addOption(
      new Option('--grace <duration>', 'how long tasks at work may go on when the worker is asked to stop')
        .argParser(durationOption('0s', '1d'))
        .default(10_000, '10s'),
    )
    .addOption(
      new Option('--lease <duration>', 'after which silence of this worker others take its tasks')
        .argParser(durationOption('1s', '7d'))
        .default(30_000, '30s'),
    )
    .addOption(
      new Option('--env <variable>', 'NAME, or NAME=value: a variable for the program; may be given several times').argParser(
        readVariable,
      ),
    )
    .addOption(new Option('--decisions', 'the last line of the output may be a decision, as JSON'))
    .option('--value', 'the output, or the answer, is JSON that the task returns to whoever waits for it')
    .addOption(new Option('--headers-file <path>', 'headers of each request, a line for each'))
    .addOption(new Option('--secret-file <path>', 'the secret that signs requests by Standard Webhooks'))
    .option('--health <address>', 'answer GET /livez, /readyz and /metrics there, as 127.0.0.1:9100', readHealthAddress)
    .option('--initialize', 'make topics known that are not')
    .option('--until-empty', 'end when no task is ready any more')
    .option('--for <duration>', 'end after so long', durationOption('1ms', '20d'))
    .option('--quiet-after <duration>', 'end when there was nothing to do for so long', durationOption('1ms', '20d'))
    .option('--verbose', 'print a line for each task')
    .addHelpText(
      'after',
      `
Examples:
  taskstream work thumbs --exec './thumb.sh --size 200' --concurrency 4 --timeout 60s
  taskstream work thumbs -- ./thumb.sh --size 200
  taskstream work mail --http http://mailer.internal/tasks --retry 'fixed(30s, 5)'

Exit codes of the program: 0 done; 65 failed for good; 77 irrelevant; 78 set aside; 126 and 127, as the
program is missing, stop the worker; any other, or a signal, is a failed try, and --retry says what then.`,
    )
    .action(async (operands: readonly string[], { exec, shell, ...options }: Given, self: Command) => {
      const [topics, words] = apart(operands)
      const wrong = misuse(topics, words, { exec, shell, ...options })
      if (wrong !== undefined) self.error(`error: ${wrong}`)
      const command = commandOf(words, exec, shell === true, self)
      const { runWorker } = await import('../work/run-worker.ts')
      await runWorker([...new Set(topics)], { ...options, ...(command && { command }) })
    })
}

/** Tells topics from what stands after `--`. The parser hands on both as one list. */
function apart(operands: readonly string[]): readonly [topics: readonly string[], words: readonly string[]] {
  const dashes = process.argv.indexOf('--')
  const words = dashes < 0 ? [] : process.argv.slice(dashes + 1)
  return [operands.slice(0, operands.length - words.length), words]
}

/** Says what does not go together. */
function misuse(topics: readonly string[], words: readonly string[], { exec, ...given }: Given): string | undefined {
  const ways = [exec, given.http, words[0]].filter((way) => way !== undefined)
  if (topics.length === 0) return 'which topics? Name them before --'
  if (ways.length !== 1) return 'who handles the tasks? Give one of --exec, --http and a program after --'
  if (given.http !== undefined && (given.timeout ?? 0) > 300_000) return '--timeout of a request is at most 5min'
  if (given.shell && exec === undefined) return '--shell goes with --exec'
  const others = given.http === undefined ? (['headersFile', 'secretFile'] as const) : (['env', 'decisions'] as const)
  const odd = others.find((name) => given[name] !== undefined)
  if (odd === undefined) return undefined
  const option = odd.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return given.http === undefined ? `--${option} goes with --http` : `--${option} goes with a program, not with --http`
}

function commandOf(
  [program, ...args]: readonly string[],
  exec: string | undefined,
  shell: boolean,
  self: Command,
): WorkOptions['command'] {
  if (program !== undefined) return [program, ...args]
  if (exec === undefined) return undefined
  if (shell) return ['/bin/sh', '-c', exec]
  try {
    return commandWords(exec)
  } catch (error) {
    // mutants: equivalent condition:false, nothing else is thrown there
    if (!(error instanceof InvalidArgumentError)) throw error
    return self.error(`error: option '--exec <command>' argument '${exec}' is invalid. ${error.message}`)
  }
}

function concurrency(text: string): number {
  const count = integer(text)
  if (count < 1 || count > 1_000) throw new InvalidArgumentError('It must be from 1 to 1000.')
  return count
}
