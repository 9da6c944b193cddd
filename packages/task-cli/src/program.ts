/** Every command of the command line, and how one of them is run. */
import { Command, CommanderError } from 'commander'
import { addActivation } from './commands/activation.ts'
import { addAttention, showAttention } from './commands/attention.ts'
import { addCancel } from './commands/cancel.ts'
import { addCompletion } from './commands/completion.ts'
import { addConsole } from './commands/console.ts'
import { addContext } from './commands/context.ts'
import { addCount } from './commands/count.ts'
import { addDoctor } from './commands/doctor.ts'
import { addErrors } from './commands/errors.ts'
import { addExport } from './commands/export.ts'
import { addImport } from './commands/import.ts'
import { addLimits } from './commands/limits.ts'
import { addLs } from './commands/ls.ts'
import { addMigrate } from './commands/migrate.ts'
import { addNext } from './commands/next.ts'
import { addNodes } from './commands/nodes.ts'
import { addPeriodic } from './commands/periodic.ts'
import { addPurge } from './commands/purge.ts'
import { addPush } from './commands/push.ts'
import { addReassign } from './commands/reassign.ts'
import { addRedrive } from './commands/redrive.ts'
import { addRepair } from './commands/repair.ts'
import { addReschedule, addRunNow } from './commands/reschedule.ts'
import { addShow } from './commands/show.ts'
import { addTail } from './commands/tail.ts'
import { addTimer } from './commands/timer.ts'
import { addTopic } from './commands/topic.ts'
import { addTopics } from './commands/topics.ts'
import { addUndo } from './commands/undo.ts'
import { addWait } from './commands/wait.ts'
import { addWatch } from './commands/watch.ts'
import { addWhy } from './commands/why.ts'
import { addWork } from './commands/work.ts'
import { explain } from './core/explain.ts'
import { exitCodeHelp, exitCodeOf, exitCodes } from './core/exit-codes.ts'
import { leaveScreen } from './core/screen.ts'
import { withoutSecrets } from './core/secrets.ts'
import { isDatabaseNamed, sourceHelp } from './core/source.ts'

/** Runs the command that the arguments of the process name. Its failure is written, and ends the process. */
export async function runCommand(version: string): Promise<void> {
  const program = programOf(version)
  try {
    // Without arguments it says whether anything is wrong, if it knows which database to ask.
    if (process.argv.length === 2 && isDatabaseNamed()) await showAttention({})
    else await program.parseAsync()
  } catch (error) {
    // Commander has already printed the error, or the help or version that was asked for.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    else fail(error)
  }
}

export function fail(thrown: unknown): void {
  const error = firstOf(thrown)
  leaveScreen()
  // A driver may have left a connection open, which would keep the process alive. So the process exits once everything is written.
  process.stdout.write('', () =>
    process.stderr.write(`${withoutSecrets(explain(error))}\n`, () => process.exit(exitCodeOf(error))),
  )
}

/** Makes every command. */
export function programOf(version: string): Command {
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
  taskstream ls invoices --state failed
  taskstream timer next 'Mon..Fri 09:00 Europe/Oslo'

${exitCodeHelp()}`,
    )
    .addHelpText('afterAll', () => `\n${withoutSecrets(sourceHelp())}`)
  for (const add of [
    addMigrate,
    addTopics,
    addTopic,
    addPush,
    addImport,
    addLs,
    addShow,
    addCount,
    addExport,
    addTail,
    addWatch,
    addWait,
    addRedrive,
    addCancel,
    addReschedule,
    addRunNow,
    addReassign,
    addPurge,
    addLimits,
    addRepair,
    addDoctor,
    addAttention,
    addUndo,
    addWhy,
    addErrors,
    addNodes,
    addNext,
    addActivation,
    addPeriodic,
    addTimer,
    addConsole,
    addContext,
    addWork,
    addCompletion,
  ])
    add(program)
  quietly(program)
  return program
}

/** Hides passwords in the errors of a command: they quote its arguments, which may be addresses with passwords. */
function quietly(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(withoutSecrets(text)) })
  for (const each of command.commands) quietly(each)
}

/** The error that came first. What a database that is lost says when it is closed hides it in an error of its own. */
function firstOf(error: unknown): unknown {
  return error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error ? firstOf(error.suppressed) : error
}
