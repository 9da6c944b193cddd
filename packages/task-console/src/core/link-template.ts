/** Addresses of other programs, such as those that show traces and logs, with places for what is looked for. */
import { invalid } from '@taskstream/task-api'

/** What an address may ask for. */
export interface Sought {
  readonly traceId: string | undefined
  readonly topic: string
  readonly sequence: number
  readonly attempt: number
}

const known: ReadonlySet<string> = new Set<keyof Sought>(['traceId', 'topic', 'sequence', 'attempt'])
const place = /\{(\w*)\}/g

/** @throws TaskError ARGUMENT_INVALID unless the value is an address by http or https with one of these places, and no place that is unknown */
export function checkTemplate(option: string, value: unknown, needed: readonly (keyof Sought)[]): asserts value is string {
  const example = `https://traces.example/trace/{${needed[0]}}`
  if (typeof value !== 'string' || !/^https?:$/.test(schemeOf(value)))
    throw invalid(option, value, `must be an address by http or https, such as ${example}`)
  const places = [...value.matchAll(place)].map(([, name = '']) => name)
  const strange = places.find((name) => !known.has(name))
  if (strange !== undefined) throw invalid(option, value, `has no value for {${strange}}: there are ${[...known].join(', ')}`)
  if (!needed.some((name) => places.includes(name)))
    throw invalid(option, value, `must have a place for ${needed.map((name) => `{${name}}`).join(' or ')}, such as ${example}`)
}

/** The address of what is sought. Undefined if the address has a place for something that is not known. */
export function fill(template: string | undefined, sought: Sought): string | undefined {
  if (template === undefined || (template.includes('{traceId}') && sought.traceId === undefined)) return undefined
  return template.replaceAll(place, (_, name: keyof Sought) => encodeURIComponent(String(sought[name])))
}

function schemeOf(template: string): string {
  return URL.parse(template.replaceAll(place, 'x'))?.protocol ?? ''
}
