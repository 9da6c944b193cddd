/** A history that keeps every promise, for tests that break one. */
import { states } from '../laboratory/checker/history.ts'
import type { Change, Effect, Event, History } from '../laboratory/checker/history.ts'

type Writable<Of> = { -readonly [Key in keyof Of]: Of[Key] }
export interface Story extends Omit<Writable<History>, 'events' | 'changes' | 'effects' | 'led'> {
  events: Writable<Event>[]
  changes: Writable<Change>[]
  effects: Writable<Effect>[]
  led: Writable<History['led'][number]>[]
}

const topic = { keyed: false, order: 'fifo', strict: true } as const
const startMs = Date.UTC(2026, 0, 1)

/** Eight tasks of each topic, pushed one by one, taken and done by two nodes in turn. */
export function story(): Story {
  const topics = [
    { ...topic, name: 'plain' },
    { ...topic, name: 'keyed', keyed: true },
    { ...topic, name: 'by priority', order: 'priority' as const },
    { ...topic, name: 'limited', total: 1 },
    { ...topic, name: 'first', next: 'second' },
    { ...topic, name: 'second' },
    { ...topic, name: 'ticks', strict: false, timed: true },
  ]
  const events: Event[] = ['node 1', 'node 2'].map((actor) => ({ at: startMs, actor, verb: 'start', owner: `owner of ${actor}` }))
  const changes: Change[] = []
  const effects: Effect[] = []
  let at = startMs
  let sequence = 0
  let transaction = 0
  const write = (change: Pick<Change, 'topic' | 'sequence' | 'key' | 'state' | 'attempt'> & Partial<Change>): void => {
    at += 5
    const rest = { identifier: 'i', owner: undefined, priority: 0, isNew: false, externalId: undefined }
    changes.push({ ...rest, began: at - 1, at, transaction: String(transaction), ...change })
  }
  const doIt = (name: string, task: number, key: string, next?: string): void => {
    const owner = `owner of node ${1 + (task % 2)}`
    transaction++
    write({ topic: name, sequence: task, key, state: states.active, attempt: 1, owner })
    transaction++
    effects.push({ topic: name, sequence: task, attempt: 1, key, transaction: String(transaction) })
    if (next !== undefined)
      write({ topic: next, sequence: ++sequence, key: `${key} of ${name}`, state: states.ready, attempt: 0, isNew: true })
    write({ topic: name, sequence: task, key, state: states.succeeded, attempt: 1, owner })
    if (next !== undefined) doIt(next, sequence, `${key} of ${name}`)
  }
  for (const { name, next, timed } of topics as readonly { name: string; next?: string; timed?: boolean }[]) {
    if (timed === true || name === 'second') continue
    for (let count = 0; count < 8; count++) {
      const key = `${name}-${count}`
      const call = events.length
      const said = { actor: 'producer', verb: 'push', call } as const
      transaction++
      events.push({ ...said, at: at + 1, phase: 'begun', topic: name, line: 'a', keys: [key] })
      write({ topic: name, sequence: ++sequence, key, state: states.ready, attempt: 0, isNew: true })
      events.push({ ...said, at: at + 1, phase: 'done', sequences: [sequence] })
      doIt(name, sequence, key, next)
    }
  }
  for (let second = 2; second < 10; second += 2) {
    const externalId = `timer:7:default/two@${new Date(startMs + second * 1_000).toISOString()}`
    write({ topic: 'ticks', sequence: ++sequence, key: undefined, state: states.ready, attempt: 0, isNew: true, externalId })
    doIt('ticks', sequence, '')
  }
  // One more connection now and then is no leak, nor is garbage.
  for (let point = 0; point < 9; point++)
    for (const actor of ['node 1', 'node 2'])
      events.push({
        at: startMs + point,
        actor,
        verb: 'sample',
        heapBytes: 20e6 + (point % 3) * 2e6,
        residentBytes: 90e6 + point * 1e6,
        handles: 4 + (point % 4),
        files: 25,
      })
  const none = { finished: [], returned: [], abandoned: [] }
  events.push({
    at: at + 10,
    actor: 'node 1',
    verb: 'stop',
    phase: 'done',
    ...none,
    finished: [{ topic: 'plain', sequence: 1, attempt: 1 }],
  })
  events.push({ at: at + 20, actor: 'node 1', verb: 'end', asked: true, how: 'code 0' })
  events.push({ at: at + 20, actor: 'node 2', verb: 'end', asked: true, how: 'SIGKILL' })
  return {
    setting: { engine: 'made up', seed: 1, topics, leaseMs: 1_000, patienceMs: 10_000 },
    events: events.toSorted((one, other) => one.at - other.at),
    changes,
    effects,
    led: [1, 1, 2, 3].map((term) => ({ group: 'g', actor: `leader ${term}`, term })),
    timers: [{ id: 'two', topic: 'ticks', everySeconds: 2, createdMs: startMs + 500, nextMs: startMs + 10_000 }],
    left: { connections: 0, owners: 0, holdings: 0, slots: 0, turns: 0, lanes: 0, processes: 0, unfinished: 0 },
  }
}

export const changesOf = ({ changes }: Story, name: string, state: number): Writable<Change>[] =>
  changes.filter((change) => change.topic === name && change.state === state)
