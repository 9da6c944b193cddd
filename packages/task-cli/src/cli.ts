#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { addActivation } from './commands/activation.ts'
import { addCancel } from './commands/cancel.ts'
import { addCount } from './commands/count.ts'
import { addDoctor } from './commands/doctor.ts'
import { addLimits } from './commands/limits.ts'
import { addLs } from './commands/ls.ts'
import { addMigrate } from './commands/migrate.ts'
import { addPeriodic } from './commands/periodic.ts'
import { addPush } from './commands/push.ts'
import { addRedrive } from './commands/redrive.ts'
import { addRepair } from './commands/repair.ts'
import { addReschedule } from './commands/reschedule.ts'
import { addTimer } from './commands/timer.ts'
import { addTopics } from './commands/topics.ts'
import { explain } from './core/explain.ts'
import { withoutSecrets } from './core/secrets.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

const program = new Command('taskstream')
  .description('Ordered task streams in the database you already have.')
  .version(version)
  .showHelpAfterError('(--help says more)')
  .exitOverride()
  .addHelpText(
    'after',
    `
Examples:
  taskstream migrate up --url sqlite:tasks.db
  TASKSTREAM_URL=postgres://localhost/shop taskstream topics
  taskstream timer next 'Mon..Fri 09:00 Europe/Oslo'

Exit codes: 0 done, 1 failed, 2 unknown command or option.`,
  )
for (const add of [
  addMigrate,
  addTopics,
  addPush,
  addLs,
  addCount,
  addRedrive,
  addCancel,
  addReschedule,
  addLimits,
  addRepair,
  addDoctor,
  addActivation,
  addPeriodic,
  addTimer,
])
  add(program)

quietly(program)

// A reader such as `head` closes the pipe when it has enough, which is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.on('uncaughtException', fail)

try {
  await program.parseAsync()
} catch (error) {
  // Commander has already printed the error, or the help or version that was asked for.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else fail(error)
}

function fail(error: unknown): void {
  // A driver may have left a connection open, which would keep the process alive. So the process exits once everything is written.
  process.stdout.write('', () => process.stderr.write(`${withoutSecrets(explain(error))}\n`, () => process.exit(1)))
}

/** Hides passwords in the errors of a command: they quote its arguments, which may be addresses with passwords. */
function quietly(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(withoutSecrets(text)) })
  for (const each of command.commands) quietly(each)
}
