/** Answers what a line of a shell may go on with, from the tree of commands, and from the database if it answers in time. */
import { filterStates } from '@taskstream/task-api'
import type { Command, Option } from 'commander'
import { visible } from '../output/visible.ts'
import { findContexts } from './contexts.ts'
import { openDatabase } from './database.ts'
import type { SourceOptions } from './source.ts'

/** A person waits for the answer with a finger on the key. */
const databaseMs = 300

/** How far a line was read. */
interface Place {
  readonly command: Command
  /** How many arguments stand before the cursor, without the names of commands. */
  readonly args: number
  /** The option whose value the cursor is in. */
  readonly option?: Option
  /** Whether only arguments can follow. */
  readonly isClosed: boolean
  /** What the line says of the database. */
  readonly source: SourceOptions
}

export async function candidatesOf(program: Command, line: string): Promise<readonly string[]> {
  const [, ...words] = wordsOf(line)
  const current = words.pop() ?? ''
  const candidates = await allAt(placeOf(program, words), current)
  // A name that a terminal would not show as it is cannot be typed either.
  return [...new Set(candidates)].filter((each) => each.startsWith(current) && visible(each) === each)
}

async function allAt({ command, args, option, isClosed, source }: Place, current: string): Promise<readonly string[]> {
  if (option !== undefined) return valuesOf(option, source)
  const help = command.createHelp()
  if (current.startsWith('-') && !isClosed)
    return help.visibleOptions(command).flatMap(({ long, short }) => [long, short].filter((name) => name !== undefined))
  const commands = help.visibleCommands(command).map((each) => each.name())
  if (args === 0 && commands.length > 0) return commands
  const all = command.registeredArguments
  // mutants: equivalent number `all.at(-1)?.variadic`, several topics are only asked for by an argument that stands alone
  const argument = all[args] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined)
  if (argument?.argChoices) return argument.argChoices
  if (argument?.name() === 'topic') return topicsOf(source)
  return command.parent?.name() === 'context' ? contextNames() : []
}

async function valuesOf(option: Option, source: SourceOptions): Promise<readonly string[]> {
  if (option.argChoices) return option.argChoices
  if (option.long === '--state') return filterStates
  if (option.long === '--context' || option.long === '--confirm') return contextNames()
  return option.long === '--dead-letter' ? topicsOf(source) : []
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program
  let [args, isClosed, option] = [0, false, undefined as Option | undefined]
  const source: Record<string, string> = {}
  for (const word of words) {
    if (option !== undefined) {
      source[option.attributeName()] = word
      option = undefined
    } else if (word === '--') isClosed = true
    else if (!isClosed && word.startsWith('-')) {
      const [name, ...value] = word.split('=')
      const found = command.options.find(({ long, short }) => long === name || short === name)
      if (found === undefined || (!found.required && !found.optional)) continue
      if (value.length > 0) source[found.attributeName()] = value.join('=')
      else option = found
    } else {
      const next = args === 0 ? command.commands.find((each) => each.name() === word) : undefined
      if (next === undefined) args++
      else command = next
    }
  }
  const { url, urlFile, context, schema } = source
  const given = { url, urlFile, context, schema }
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as SourceOptions
  return { command, args, isClosed, source: asked, ...(option && { option }) }
}

function contextNames(): readonly string[] {
  try {
    return findContexts()?.all.map(({ name }) => name) ?? []
  } catch {
    return []
  }
}

async function topicsOf(source: SourceOptions): Promise<readonly string[]> {
  const late = new Promise<readonly string[]>((resolve) => setTimeout(resolve, databaseMs, []))
  return Promise.race([late, readTopicNames(source)])
}

async function readTopicNames(source: SourceOptions): Promise<readonly string[]> {
  try {
    await using database = await openDatabase(source)
    return await database.reading<string[]>((transaction) => database.tasks.topics(transaction))
  } catch {
    return []
  }
}

/** Splits a line as shells do. The last word is what the cursor is in, and may be empty. */
export function wordsOf(line: string): string[] {
  const words = ['']
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!
    if (character === quote) quote = ''
    else if (quote === '' && (character === "'" || character === '"')) quote = character
    else if (character === '\\' && quote !== "'" && at + 1 < line.length) words.push(words.pop()! + line[++at]!)
    else if (quote === '' && /\s/.test(character)) {
      if (words.at(-1) !== '' || words.length === 1) words.push('')
    } else words.push(words.pop()! + character)
  }
  return words
}
