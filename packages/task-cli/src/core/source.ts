/** Which database a command works on, and who said so. */
import { readFileSync } from 'node:fs'
import { contextOf, findContexts } from './contexts.ts'
import type { Context } from './contexts.ts'
import { CommandError } from './exit-codes.ts'
import { toLocation } from './location.ts'
import type { Location } from './location.ts'
import { placeOf } from './place.ts'
import { noteSecretsOf } from './secrets.ts'

export interface SourceOptions {
  readonly url?: string
  readonly urlFile?: string
  readonly context?: string
  readonly schema?: string
}

export interface Source {
  readonly location: Location
  /** The database without its password. */
  readonly place: string
  readonly schema?: string
  readonly context?: Context
}

interface Address {
  readonly url: string
  /** What the address is called in messages. */
  readonly from: string
  readonly context?: Context
}

/**
 * Resolves the options. Each way goes before the next: an option, TASKSTREAM_URL, the context that `context use` has chosen.
 *
 * @throws CommandError usage, or TaskError ARGUMENT_INVALID, if no database or none that can be used is named
 */
export function sourceOf(options: SourceOptions): Source {
  const { url, from, context } = addressOf(options)
  noteSecretsOf(url)
  const location = toLocation(url, from)
  const schema = options.schema ?? context?.schema
  return { location, place: placeOf(location), ...(schema !== undefined && { schema }), ...(context && { context }) }
}

/** What help says of the database that a command without options would work on. It never fails, and has no password. */
export function sourceHelp(): string {
  const given = process.env['TASKSTREAM_URL']
  if (given) return `TASKSTREAM_URL is set ${described({ url: given, from: 'TASKSTREAM_URL' })}`
  try {
    const contexts = findContexts()
    if (contexts?.used === undefined) return 'TASKSTREAM_URL is not set'
    return `TASKSTREAM_URL is not set; context ${contexts.used} of ${contexts.path} ${described(ofContext(contextOf(contexts.used, contexts)))}`
  } catch (error) {
    return `TASKSTREAM_URL is not set; ${(error as Error).message}`
  }
}

/** Whether a command without options knows a database to work on. */
export function isDatabaseNamed(): boolean {
  return Boolean(process.env['TASKSTREAM_URL']) || findContexts()?.used !== undefined
}

function described({ url, from }: Address): string {
  try {
    noteSecretsOf(url)
    const location = toLocation(url, from)
    return `(${location.engine}, ${placeOf(location)})`
  } catch {
    return '(and is no address that can be read)'
  }
}

function addressOf({ url, urlFile, context }: SourceOptions): Address {
  const given = Object.entries({ '--url': url, '--url-file': urlFile, '--context': context }).filter(
    ([, value]) => value !== undefined,
  )
  if (given.length > 1) throw new CommandError('usage', `${given.map(([name]) => name).join(' and ')} cannot be given together`)
  if (url !== undefined) return { url, from: '--url' }
  if (urlFile !== undefined) return { url: addressIn(urlFile, '--url-file'), from: '--url-file' }
  if (context !== undefined) return ofContext(contextOf(context, findContexts()))
  const set = process.env['TASKSTREAM_URL']
  if (set) return { url: set, from: 'TASKSTREAM_URL' }
  const contexts = findContexts()
  if (contexts?.used !== undefined) return ofContext(contextOf(contexts.used, contexts))
  throw new CommandError('usage', 'Which database? Give --url, --url-file or --context, or set TASKSTREAM_URL')
}

function ofContext(context: Context): Address {
  const { name, variable, file } = context
  if (file !== undefined) return { url: addressIn(file, `context "${name}"`), from: `the file of context "${name}"`, context }
  const url = process.env[variable!]
  if (!url) throw new CommandError('usage', `context "${name}" takes its address from ${variable}, which is not set`)
  return { url, from: variable!, context }
}

/** Reads the address that is alone in a file. @throws CommandError usage, if it cannot be read */
export function addressIn(path: string, from: string): string {
  let text
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new CommandError(
      'usage',
      `${from}: the file ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
  }
  if (text === '') throw new CommandError('usage', `${from}: the file ${path} is empty. Write the address into it`)
  return text
}
