import { diagnosisCodes } from '@taskstream/task-api'
import type { Diagnosis, DiagnosisCode } from '@taskstream/task-api'
import { sayWhy } from '@taskstream/task-operations'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { CommandError, exitCodes } from '../core/exit-codes.ts'
import { noTask } from '../core/known.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { refHelp, toReference, toRef } from '../core/refs.ts'
import { printDone } from '../output/print.ts'

interface WhyOptions extends CommonOptions {
  readonly expect?: DiagnosisCode
}

export function addWhy(program: Command): void {
  withCommon(program.command('why').description('say why a task is not running, whom it waits for, and what helps'))
    .argument('<topic>')
    .argument('<task>', refHelp)
    .option('--expect <code>', `end with ${exitCodes.no} unless this is the answer, such as running`, code)
    .addHelpText(
      'after',
      `
Of an identifier the first task is meant on which work may still be done, or else the latest; the topic must be keyed.

Answers: ${diagnosisCodes.join(', ')}.

Examples:
  taskstream why invoices inv-7
  taskstream why invoices @4711 --expect succeeded`,
    )
    .action(async (topic: string, text: string, { expect, ...options }: WhyOptions) => {
      const reference = toReference(toRef(text))
      await using database = await openDatabase(options)
      const told = await database.reading<Diagnosis>((transaction) => database.tasks.why(transaction, topic, reference))
      if (told.code === 'unknown' && expect === undefined) throw noTask(topic, text, database.place)
      const { answer, more, remedies } = sayWhy(told)
      const { task } = told
      const name = task ? `${task.identifier} @${task.sequence}` : text
      printDone(
        {
          json: { ...withoutPayload(told), answer, commands: remedies },
          lines: [
            `${told.code}: ${name} ${answer}`,
            ...more.map((line) => `  ${line}`),
            ...remedies.map((line) => `  try: ${line}`),
          ],
          names: [told.code],
        },
        options,
      )
      if (expect !== undefined && told.code !== expect) throw new CommandError('no', `${name} is ${told.code}, and not ${expect}`)
    })
}

/** Payloads may be secret. */
function withoutPayload({ task, ...rest }: Diagnosis): object {
  if (!task) return rest
  const { input: _input, output: _output, headers: _headers, ...shown } = task
  return { ...rest, task: shown }
}

function code(text: string): DiagnosisCode {
  const known = diagnosisCodes.find((each) => each === text)
  if (!known) throw new InvalidArgumentError(`It must be one of ${diagnosisCodes.join(', ')}.`)
  return known
}
