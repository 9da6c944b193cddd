import type { CalendarEvent, PreviewEntry, Timer } from '@taskstream/task-timers'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { formatInstant, parseInstant } from '../core/instant.ts'
import { integer } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { duration } from '../output/duration.ts'
import { formatOf, withOutput } from '../output/format.ts'
import type { OutputOptions } from '../output/format.ts'
import { printJson, printLine, printList } from '../output/print.ts'

interface NextOptions extends OutputOptions {
  readonly base?: number
  readonly count: number
  readonly stdin?: boolean
}

interface Answer {
  readonly normalized: string
  readonly next: readonly string[]
}

const defaultCount = 5
const maximumCount = 1_000

export function addTimer(program: Command): void {
  const timer = program.command('timer').description('explain timers: calendar events, cron patterns, intervals')
  const next = withOutput(
    timer.command('next').description('list the next elapses of a timer, and the changes of clocks between them'),
  )
    .argument('[expression]', 'a calendar event, cron:<pattern>, or every:<duration>')
    .option('--base <instant>', 'list elapses after this instant, ISO 8601 (default: now)', base)
    .option('--count <count>', `how many elapses, 1 to ${maximumCount}`, count, defaultCount)
    .option('--stdin', 'read a JSON object on each line, {"expression","base","count"}, and answer with one on each line')
    .addHelpText(
      'after',
      `
Examples:
  taskstream timer next 'Mon..Fri 09:00 Europe/Oslo'
  taskstream timer next '*-*~1 12:00' --base 2024-02-01T00:00:00Z --count 12
  taskstream timer next 'cron:*/10 8-17 * * MON-FRI Europe/Oslo' --json
  taskstream timer next 'every:PT90M from 2024-01-01T00:00:00Z'
  echo '{"expression":"*:0/20","count":2}' | taskstream timer next --stdin --json`,
    )
    .action(async (expression: string | undefined, options: NextOptions) => {
      if ((expression === undefined) !== (options.stdin ?? false))
        next.error('error: give an expression, or --stdin', { exitCode: 2 })
      if (expression === undefined) return answerLines(options)
      const { parseTimer } = await import('@taskstream/task-scheduler')
      const from = options.base ?? now()
      const timer = parseTimer(expression)
      const format = formatOf(options)
      if (format === 'json') return printJson(answer(timer, from, options.count))
      if (format === 'ndjson') return printLine(answer(timer, from, options.count))
      await printElapses(timer, from, options)
    })
}

/** Answers each line of standard input with a line, as soon as it comes. */
async function answerLines(options: NextOptions): Promise<void> {
  const { parseTimer } = await import('@taskstream/task-scheduler')
  for await (const line of linesOf(process.stdin)) {
    try {
      const { expression, base, count } = toQuestion(line, options)
      printLine(answer(parseTimer(expression), base, count))
    } catch (error) {
      printLine({ error: (error as Error).message })
    }
  }
}

/** Splits a stream into lines. The readline of Node.js would also split at U+2028, which JSON may contain. */
async function* linesOf(stream: NodeJS.ReadStream): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** What a line does not say, the options say. */
function toQuestion(
  line: string,
  options: NextOptions,
): { readonly expression: string; readonly base: number; readonly count: number } {
  const question = parseObject(line)
  const { expression, base: from, count: many = options.count } = question
  if (typeof expression !== 'string') throw new Error('expression must be a string')
  if (from !== undefined && typeof from !== 'string') throw new Error('base must be a string: ISO 8601')
  return { expression, base: from === undefined ? (options.base ?? now()) : base(from), count: count(String(many)) }
}

function parseObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // The error below is for both cases.
  }
  throw new Error('the line must be a JSON object, such as {"expression":"daily"}')
}

/** The elapses after an instant in microseconds, because calendar events may elapse at fractions of a millisecond. */
function answer(timer: Timer, from: number, many: number): Answer {
  const next: string[] = []
  for (let at = nextMicros(timer, from); at !== undefined && next.length < many; at = nextMicros(timer, at))
    next.push(formatInstant(at))
  return { normalized: isCalendarEvent(timer) ? timer.normalized : timer.expression, next }
}

function nextMicros(timer: Timer, after: number): number | undefined {
  if (isCalendarEvent(timer)) return timer.nextMicros(after)
  const next = timer.next(Math.floor(after / 1_000))
  return next === undefined ? undefined : next * 1_000
}

function isCalendarEvent(timer: Timer): timer is CalendarEvent {
  return 'nextMicros' in timer
}

async function printElapses(timer: Timer, from: number, options: NextOptions): Promise<void> {
  const { count: many } = options
  const { preview } = await import('@taskstream/task-scheduler')
  const entries = preview(timer, many, { after: Math.floor(from / 1_000) })
  const rows = { columns: columns(timer), rows: entries, name: ({ instant }: PreviewEntry) => instant }
  if (!['table', 'wide'].includes(formatOf(options))) return printList(rows, options)
  if (isCalendarEvent(timer) && timer.normalized !== timer.expression) console.log(timer.normalized)
  if (entries.length === 0) return console.log(`never after ${formatInstant(from)}`)
  printList(rows, options)
  for (const { instant, notes } of entries) for (const note of notes) console.log(`before ${instant}: ${note}`)
  if (entries.length < many) console.log('and never again')
}

function columns({ zone }: Timer): readonly Column<PreviewEntry>[] {
  return [
    { name: 'utc', rank: 0, kind: 'word', value: ({ instant }) => instant },
    {
      name: zone === 'UTC' ? 'weekday' : zone,
      rank: 1,
      kind: 'word',
      value: ({ local, offset, abbreviation }) => (zone === 'UTC' ? local.slice(0, 3) : `${local} ${offset} ${abbreviation}`),
    },
    { name: 'since', rank: 2, kind: 'word', value: ({ sincePreviousMs }) => sincePreviousMs && duration(sincePreviousMs) },
  ]
}

function base(text: string): number {
  const instant = parseInstant(text)
  if (instant === undefined)
    throw new InvalidArgumentError('It must be an ISO 8601 instant in the years 1970 to 2199, such as 2024-02-28T00:00:00Z.')
  return instant
}

function count(text: string): number {
  const value = integer(text)
  if (value < 1 || value > maximumCount) throw new InvalidArgumentError(`It must be from 1 to ${maximumCount}.`)
  return value
}

function now(): number {
  return Date.now() * 1_000
}
