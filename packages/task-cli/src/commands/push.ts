import { createInterface } from 'node:readline'
import { invalid, taskToString } from '@taskstream/task-api'
import type { Insertion, PushedTask, TaskCreation } from '@taskstream/task-api'
import type { Command } from 'commander'
import { confirmContext, withContextName } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { openDatabase } from '../core/database.ts'
import { parseInstant } from '../core/instant.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'

interface PushOptions extends CommonOptions, Pick<ConfirmOptions, 'confirm'> {
  readonly input?: string
  readonly externalId?: string
  readonly delayMs?: number
  readonly priority?: number
  readonly insertion?: Insertion
  readonly initialize?: boolean
  readonly stdin?: boolean
}

export function addPush(program: Command): void {
  withContextName(withCommon(program.command('push').description('push tasks, all of them in one transaction')))
    .argument('<topic>')
    .argument('[identifier...]', 'the identifiers of the tasks')
    .option('--input <text>', 'the input of each task')
    .option('--external-id <text>', 'the external id of a single task, so that a second push adds nothing')
    .option('--delay-ms <ms>', 'for how many milliseconds the tasks are not polled', integer)
    .option('--priority <number>', 'a higher priority comes sooner, in topics of the order priority', integer)
    .option('--insertion <kind>', 'append, supersede, replace or delete')
    .option('--initialize', 'make the topic known if it is not')
    .option('--stdin', 'read creations from standard input, a JSON object on each line')
    .addHelpText(
      'after',
      `
Examples:
  taskstream push invoices inv-1 inv-2 --input '{"to":"a@example.org"}' --initialize
  echo '{"identifier":"inv-3","delayMs":60000}' | taskstream push invoices --stdin`,
    )
    .action(async (topic: string, identifiers: readonly string[], options: PushOptions) => {
      const { insertion, initialize = false, stdin = false } = options
      const creations = [
        ...identifiers.map((identifier) => ({ ...common(options), identifier })),
        ...(stdin ? (await readCreations()).map((creation) => ({ ...common(options, creation.due), ...creation })) : []),
      ]
      if (creations.length === 0) throw invalid('identifier', '', 'must be given, or --stdin')
      await using database = await openDatabase(options)
      await confirmContext({ count: creations.length }, database, options)
      const pushed = await database.transactions<PushedTask[]>(async (transaction) => {
        if (initialize) await database.tasks.initialize(transaction, topic)
        return database.tasks.push(transaction, topic, creations, insertion ? { insertion } : {})
      })
      const lines = pushed.map((task) => `${task.outcome} ${taskToString(task)}`)
      printDone({ json: pushed, lines, names: pushed.map(({ sequence }) => `@${sequence}`) }, options)
    })
}

/** What the options say of each task. A task with a due time of its own is not delayed. */
function common({ input, externalId, delayMs, priority }: PushOptions, due?: Date): Omit<TaskCreation, 'identifier'> {
  return {
    ...(input !== undefined && { input }),
    ...(externalId !== undefined && { externalId }),
    ...(delayMs !== undefined && due === undefined && { delayMs }),
    ...(priority !== undefined && { priority }),
  }
}

async function readCreations(): Promise<TaskCreation[]> {
  const creations: TaskCreation[] = []
  let line = 0
  for await (const text of createInterface({ input: process.stdin })) {
    line++
    if (!/\S/.test(text)) continue
    let creation: unknown
    try {
      creation = JSON.parse(text)
    } catch (error) {
      throw invalid(`line ${line}`, text, `must be a JSON object (${(error as Error).message})`)
    }
    if (typeof creation !== 'object' || creation === null || Array.isArray(creation))
      throw invalid(`line ${line}`, text, 'must be a JSON object')
    creations.push(toInstants(creation as TaskCreation, line))
  }
  return creations
}

/** Turns the due time and the deadline into dates, because they are texts in JSON. */
function toInstants(creation: TaskCreation, line: number): TaskCreation {
  const { due, deadline } = creation
  return {
    ...creation,
    ...(due !== undefined && { due: toInstant('due', due, line) }),
    ...(deadline !== undefined && { deadline: toInstant('deadline', deadline, line) }),
  }
}

/** JavaScript would read February 30 as March 2, and a text without a zone by that of the machine. */
function toInstant(name: string, given: unknown, line: number): Date {
  const micros = typeof given === 'string' ? parseInstant(given) : undefined
  if (micros === undefined)
    throw invalid(`${name} of line ${line}`, given, 'must be an instant such as 2027-01-31T09:00:00Z, from 1970 to 2199')
  return new Date(micros / 1_000)
}
