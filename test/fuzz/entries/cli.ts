/** Arguments and options of the command line, in this process, on a database in a file. */
import { createRequire } from 'node:module'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TaskError } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { addActivation } from '../../../packages/task-cli/src/commands/activation.ts'
import { addCancel } from '../../../packages/task-cli/src/commands/cancel.ts'
import { addCount } from '../../../packages/task-cli/src/commands/count.ts'
import { addLimits } from '../../../packages/task-cli/src/commands/limits.ts'
import { addLs } from '../../../packages/task-cli/src/commands/ls.ts'
import { addMigrate } from '../../../packages/task-cli/src/commands/migrate.ts'
import { addPeriodic } from '../../../packages/task-cli/src/commands/periodic.ts'
import { addPurge } from '../../../packages/task-cli/src/commands/purge.ts'
import { addReassign } from '../../../packages/task-cli/src/commands/reassign.ts'
import { addRedrive } from '../../../packages/task-cli/src/commands/redrive.ts'
import { addReschedule, addRunNow } from '../../../packages/task-cli/src/commands/reschedule.ts'
import { addShow } from '../../../packages/task-cli/src/commands/show.ts'
import { addTimer } from '../../../packages/task-cli/src/commands/timer.ts'
import { addTopic } from '../../../packages/task-cli/src/commands/topic.ts'
import { addTopics } from '../../../packages/task-cli/src/commands/topics.ts'
import { CommandError } from '../../../packages/task-cli/src/core/exit-codes.ts'
import { volatile } from '../../databases/throw-away.ts'
import { soup } from '../draw.ts'
import type { FuzzedCall, FuzzedWorld } from '../property.ts'

type Program = Parameters<typeof addLs>[0]

/** The parser is a dependency of the command line alone. */
const { Command, CommanderError } = createRequire(new URL('../../../packages/task-cli/src/cli.ts', import.meta.url))(
  'commander',
) as {
  readonly Command: new (name: string) => Program
  readonly CommanderError: new () => Error
}

const commands = [
  addMigrate,
  addTopics,
  addTopic,
  addLs,
  addShow,
  addCount,
  addRedrive,
  addPurge,
  addReassign,
  addCancel,
  addReschedule,
  addRunNow,
  addLimits,
  addActivation,
  addPeriodic,
  addTimer,
]

const words = [
  ...'shop_none_@1_@9007199254740993_1_-1_0_2147483648_1e9_NaN_ready_failed_delayed_all_none_2027-01-01T08:00:00Z_2027-13-41_daily'.split(
    '_',
  ),
  '__proto__',
  'constructor',
  '',
  ' ',
  '\u202E',
  '💥',
  '--',
  '-',
  '{"a":1}',
  'cron:* * * * *',
  'every:PT1S',
  'x'.repeat(300),
  'x'.repeat(50_000),
]
const word = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...words) },
  { weight: 1, arbitrary: soup(words.slice(0, 20)).map((text) => text.slice(0, 100_000)) },
)
const options = [
  ...'--state_--identifier_--reference_--from_--to_--after_--before_--size_--limit_--try_--older-than_--changed-before_--yes_--json_--dry-run_--due_--delay-ms_--deadline'.split(
    '_',
  ),
  ...'--priority_--external-id_--all_--scope_--id_--name_--input_--misfire_--late-ms_--jitter-ms_--start_--end_--max-count_--replace'.split(
    '_',
  ),
  ...'--total_--rate_--max-entries_--when-full_--dead-letter_--base_--count_--order_--keyed_--condition_--help_--constructor_-x'.split(
    '_',
  ),
]
const names = [
  ['ls'],
  ['count'],
  ['topics'],
  ['topic', 'create'],
  ['topic', 'options'],
  ['show'],
  ['run-now'],
  ['redrive'],
  ['purge', '--yes'],
  ['reassign', '--yes', '--result', 'filter'],
  ['cancel'],
  ['reschedule'],
  ['limits'],
  ['limits', 'set'],
  ['pause'],
  ['resume'],
  ['periodic', 'ls'],
  ['periodic', 'add'],
  ['periodic', 'pause'],
  ['periodic', 'rm'],
  ['periodic', 'run'],
  ['timer', 'next'],
  ['migrate', 'status'],
  ['__proto__'],
]
const lines = fc
  .tuple(
    fc.constantFrom(...names),
    fc.array(word, { maxLength: 3 }),
    fc.array(fc.tuple(fc.constantFrom(...options), fc.option(word, { nil: undefined })), { maxLength: 3 }),
  )
  .map(([name, given, more]) => [
    ...name,
    ...given,
    ...more.flatMap(([option, value]) => (value === undefined ? [option] : [option, value])),
  ])

const codes = [
  'TOPIC_UNKNOWN',
  'TOPIC_NOT_KEYED',
  'TOPIC_DIFFERENT',
  'TASK_STATE',
  'TIMER_INVALID',
  'TIMER_UNKNOWN',
  'TIMER_DUPLICATE',
  'TIMER_AMBIGUOUS',
] as const

export async function openCli(): Promise<FuzzedWorld> {
  const folder = mkdtempSync(join(volatile, 'taskstream-fuzz-'))
  const url = `sqlite:${join(folder, 'tasks.db')}`
  await run(['migrate', 'up', '--url', url])
  await run(['topic', 'create', 'shop', '--url', url]).catch(() => {})
  const line: FuzzedCall = {
    name: 'a line',
    drawn: lines.map((words) => [words]) as never,
    args: (drawn: never) => drawn,
    call: (words: readonly string[]) =>
      run([...words.filter((word) => word !== '--url'), ...(words.includes('--') || words[0] === 'timer' ? [] : ['--url', url])]),
    codes: [...codes],
    isWild: true,
    isUnchanged: true,
    isAsync: true,
  }
  return {
    calls: [line],
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Runs a command. What it prints is thrown away. @throws TaskError ARGUMENT_INVALID also for what the parser refuses */
async function run(words: readonly string[]): Promise<void> {
  const program = new Command('taskstream').exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} })
  for (const add of commands) add(program)
  const { log, error: logError } = console
  const exitCode = process.exitCode
  console.log = () => {}
  console.error = () => {}
  try {
    await program.parseAsync([...words], { from: 'user' })
  } catch (error) {
    if (error instanceof CommandError) throw new TaskError('ARGUMENT_INVALID', error.message.slice(0, 100))
    if (!(error instanceof CommanderError)) throw error
    throw new TaskError('ARGUMENT_INVALID', error.message.slice(0, 100))
  } finally {
    console.log = log
    console.error = logError
    process.exitCode = exitCode
  }
}
