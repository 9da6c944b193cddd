/** Reads the command line of `npm run test:containers`. */
import { engines, kinds } from './engines.ts'
import type { KindName } from './engines.ts'

export interface Asked {
  readonly image: string
  readonly kind: KindName
  /** The arguments that vitest gets. */
  readonly rest: readonly string[]
}

export const usage = `npm run test:containers -- --engine NAME[:TAG] [arguments of vitest]
npm run test:containers -- --image IMAGE --kind ${Object.keys(kinds).join('|')} [arguments of vitest]

Engines, and the release that is taken where none is named: ${Object.entries(engines)
  .map(([name, { tag }]) => `${name}:${tag}`)
  .join(', ')}`

const own = ['engine', 'image', 'kind'] as const

/** Parses the arguments. @throws Error with the usage if they cannot be understood */
export function parse(args: readonly string[]): Asked {
  const values: { [name in (typeof own)[number]]?: string } = {}
  const rest: string[] = []
  // `parseArgs` cannot be used: all other arguments are vitest's, and only vitest knows which of its options take a value.
  for (let at = 0; at < args.length; at++) {
    const [, option = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(args[at]!) ?? []
    const name = own.find((each) => each === option)
    if (name === undefined) rest.push(args[at]!)
    else values[name] = inline ?? args[++at] ?? ''
  }
  const { engine, image, kind } = values
  if (engine !== undefined && image === undefined && kind === undefined) return { ...named(engine), rest }
  if (engine !== undefined || !image || kind === undefined) throw new Error(usage)
  if (!isKind(kind)) throw new Error(`There is no kind ${kind}.\n\n${usage}`)
  return { image, kind, rest }
}

function named(engine: string): Omit<Asked, 'rest'> {
  const [, name = '', given] = /^([^:]*)(?::(.+))?$/s.exec(engine) ?? []
  const found = Object.hasOwn(engines, name) ? engines[name] : undefined
  if (!found) throw new Error(`There is no engine ${engine}.\n\n${usage}`)
  return { image: `${found.image}:${given ?? found.tag}`, kind: found.kind }
}

function isKind(name: string): name is KindName {
  return Object.hasOwn(kinds, name)
}
