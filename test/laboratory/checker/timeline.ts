/** Shows what a history says of some tasks, as lines of text and as a picture. */
import { states } from './history.ts'
import type { Change, Event, History } from './history.ts'

export interface Moment {
  /** Milliseconds since the first moment. */
  readonly ms: number
  readonly who: string
  readonly what: string
  readonly isFault: boolean
}

const nameOfState = new Map<number, string>(Object.entries(states).map(([name, state]) => [state, name]))

/** What happened, by time. */
export function momentsOf(history: History): Moment[] {
  const owners = new Map(
    history.events.flatMap((event) => (event.verb === 'start' && event.owner ? [[event.owner, event.actor]] : [])),
  )
  const all = [
    ...history.events.map((event) => ({ at: event.at, who: event.actor, what: tell(event), isFault: event.verb === 'fault' })),
    ...history.changes.map((change) => ({
      at: change.at,
      who: (change.owner !== undefined && owners.get(change.owner)) || 'database',
      what: tellChange(change),
      isFault: false,
    })),
  ].toSorted((one, other) => one.at - other.at)
  const first = all[0]?.at ?? 0
  return all.map(({ at, ...moment }) => ({ ms: at - first, ...moment }))
}

function tell(event: Event): string {
  switch (event.verb) {
    case 'push':
      return event.phase === 'begun' ? `pushes ${event.keys.join(', ')} to ${event.topic}` : `push ${event.phase}`
    case 'start':
      return `starts${event.owner === undefined ? '' : ` as ${event.owner}`}`
    case 'stop':
      return event.phase === 'begun'
        ? 'is stopped'
        : `has stopped: ${event.finished.length} finished, ${event.returned.length} returned, ${event.abandoned.length} abandoned`
    case 'end':
      return `ends: ${event.how}`
    case 'unsure':
      return `does not know what it has polled of ${event.topic}: ${event.why}`
    case 'sample':
      return `has ${Math.round(event.heapBytes / 2 ** 20)} MiB on its heap, ${event.handles} handles`
    case 'fault':
      return event.phase === 'begun'
        ? `${event.kind}${event.target === undefined ? '' : ` of ${event.target}`}`
        : `${event.kind} is over`
  }
}

function tellChange({ topic, sequence, identifier, state, attempt, key, isNew }: Change): string {
  const name = `${topic} ${sequence} (${identifier}${key === undefined ? '' : `, ${key}`})`
  if (state === undefined) return `${name} is deleted`
  return `${name} is ${isNew ? 'new, ' : ''}${nameOfState.get(state) ?? state}, attempt ${attempt}`
}

/** One line for each moment. */
export function timelineText(history: History): string {
  const moments = momentsOf(history)
  const width = Math.max(0, ...moments.map(({ who }) => who.length))
  return moments.map(({ ms, who, what }) => `${ms.toFixed(1).padStart(10)} ms  ${who.padEnd(width)}  ${what}`).join('\n')
}

/** A column for each actor, and a row for each moment. */
export function timelineSvg(history: History): string {
  const moments = momentsOf(history)
  const actors = [...new Set(moments.map(({ who }) => who))]
  const [column, row, top] = [320, 22, 40]
  const width = 110 + actors.length * column
  const height = top + moments.length * row + 20
  const x = (who: string): number => 110 + actors.indexOf(who) * column
  const lines = actors.map(
    (who) =>
      `<text x="${x(who)}" y="20" class="who">${escape(who)}</text><line x1="${x(who)}" y1="28" x2="${x(who)}" y2="${height - 10}"/>`,
  )
  const texts = moments.map(({ ms, who, what, isFault }, position) => {
    const y = top + position * row + 12
    return (
      `<text x="100" y="${y}" class="ms">${ms.toFixed(1)} ms</text><circle cx="${x(who)}" cy="${y - 4}" r="4"${isFault ? ' class="fault"' : ''}/>` +
      `<text x="${x(who) + 9}" y="${y}"><title>${escape(what)}</title>${escape(what.length > 48 ? `${what.slice(0, 47)}…` : what)}</text>`
    )
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    '<style>line{stroke:#bbb}circle{fill:#2563eb}.fault{fill:#dc2626}.ms{text-anchor:end;fill:#666}.who{font-weight:bold}</style>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...lines,
    ...texts,
    '</svg>',
  ].join('\n')
}

function escape(text: string): string {
  // XML has no other control characters than these, even escaped.
  const printable = text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]/g, '\uFFFD')
  return printable.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
}
