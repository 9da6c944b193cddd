/**
 * Reads and writes `taskstream.json`: names for databases. The file may be shared with others, so it says where an address is, and never the address:
 * that may have a password.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { nearest } from '@taskstream/task-api'
import { visible } from '../output/visible.ts'
import { CommandError } from './exit-codes.ts'

export interface Context {
  readonly name: string
  /** The environment variable that has the address. */
  readonly variable?: string
  /** The file that has the address. */
  readonly file?: string
  readonly schema?: string
  /** Whether writes that are hard to undo ask for the name of the context. */
  readonly production: boolean
}

export interface Contexts {
  /** Where the file is. */
  readonly path: string
  readonly all: readonly Context[]
  /** The context that is used if nothing else names a database. */
  readonly used?: string
}

const fileName = 'taskstream.json'
const keys = ['variable', 'file', 'schema', 'production']

/** Finds the file in this folder, or in the nearest folder above it. Undefined if there is none. */
export function findContexts(from: string = process.cwd()): Contexts | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const path = join(folder, fileName)
    if (existsSync(path)) return readContexts(path)
    if (folder === dirname(folder)) return undefined
  }
}

/** @throws CommandError usage, if there is no such context */
export function contextOf(name: string, contexts: Contexts | undefined): Context {
  if (contexts === undefined)
    throw new CommandError(
      'usage',
      `no context "${name}": there is no ${fileName} here or above. Write one, such as {"contexts":{"${name}":{"variable":"SHOP_URL"}}}`,
    )
  const found = contexts.all.find((context) => context.name === name)
  if (found !== undefined) return found
  const names = contexts.all.map((context) => context.name)
  const meant = nearest(name, names)
  throw new CommandError(
    'usage',
    `no context "${name}" in ${contexts.path}${meant === undefined ? '' : `; did you mean ${meant}?`} (it has: ${names.join(', ') || 'none'})`,
  )
}

/** Writes into the file which context is used. */
export function useContext({ path }: Contexts, name: string): void {
  const before = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, `${JSON.stringify({ ...before, use: name }, undefined, 2)}\n`)
}

function readContexts(path: string): Contexts {
  const wrong = (what: string): CommandError => new CommandError('usage', `${path} cannot be used: ${what}`)
  let read: unknown
  try {
    read = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // The parser's message would quote the file, in which somebody may have written a password after all.
    throw wrong('it is no JSON')
  }
  if (!isObject(read) || !isObject(read['contexts']))
    throw wrong('it must be an object such as {"contexts":{"shop":{"variable":"SHOP_URL"}}}')
  const { use } = read
  if (use !== undefined && typeof use !== 'string') throw wrong('"use" must be the name of a context')
  const all = Object.entries(read['contexts']).map(([name, value]) => toContext(name, value, dirname(path), wrong))
  return { path, all, ...(use !== undefined && { used: use }) }
}

function toContext(name: string, value: unknown, folder: string, wrong: (what: string) => CommandError): Context {
  const at = `context "${visible(name, 100)}"`
  if (!isObject(value)) throw wrong(`${at} must be an object such as {"variable":"SHOP_URL"}`)
  const { variable, file, schema, production = false } = value
  const unknown = Object.keys(value).find((key) => !keys.includes(key))
  if (unknown !== undefined) throw wrong(`${at} may have only ${keys.join(', ')}, and not "${visible(unknown, 100)}"`)
  if ((variable === undefined) === (file === undefined)) throw wrong(`${at} must have "variable" or "file", and not both`)
  for (const [key, text] of Object.entries({ variable, file, schema }))
    if (text !== undefined && typeof text !== 'string') throw wrong(`"${key}" of ${at} must be a text`)
  if (typeof production !== 'boolean') throw wrong(`"production" of ${at} must be true or false`)
  if (typeof variable === 'string' && !/^[A-Za-z_]\w*$/.test(variable))
    throw wrong(`"variable" of ${at} must be the name of an environment variable, and never the address itself`)
  if (typeof file === 'string' && file.includes('://'))
    throw wrong(`"file" of ${at} must be the path of a file that has the address, and never the address itself`)
  return {
    name,
    production,
    ...(typeof variable === 'string' && { variable }),
    ...(typeof file === 'string' && { file: resolve(folder, file) }),
    ...(typeof schema === 'string' && { schema }),
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
