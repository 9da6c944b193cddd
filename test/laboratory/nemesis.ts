/** Inflicts faults for some time: every kind in turn, in an order that the seed draws. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, Scene } from './fault.ts'
import type { HistoryFile } from './history-file.ts'

interface NemesisOptions {
  readonly faults: readonly Fault[]
  readonly scene: Scene
  readonly history: HistoryFile
  readonly seconds: number
  /** How many faults may be under way at a time. */
  readonly lanes: number
  /** Whether to go on, for a minute at most, until every kind of fault has come about. */
  readonly isWhole: boolean
  readonly onFault: (kind: string) => void
  /** Called after every hundredth fault, when none is under way. */
  readonly onQuiet: () => Promise<void>
}

export interface Inflicted {
  /** How often the fault came about. */
  readonly times: number
  /** How many processes, connections or rows it met in all. */
  readonly met: number
}

const longerMs = 60_000
const faultsBetweenQuiet = 100

/** @returns how often each kind came about */
export async function inflictFaults(options: NemesisOptions): Promise<Record<string, Inflicted>> {
  const { faults, scene, history, seconds, lanes, isWhole, onFault, onQuiet } = options
  const counts: Record<string, Inflicted> = Object.fromEntries(faults.map(({ kind }) => [kind, { times: 0, met: 0 }]))
  const endMs = performance.now() + seconds * 1_000
  let round = 0
  let deck: Fault[] = []
  let isWideUnderWay = false
  const underWay = new Set<number>()
  let sinceQuiet = 0
  let quiet: Promise<void> | undefined

  /** Every so often no fault begins until those that are under way are over. */
  const makeQuiet = async (): Promise<void> => {
    while (underWay.size > 0) await delay(20)
    await onQuiet()
    sinceQuiet = 0
    quiet = undefined
  }

  /** The next of the deck. When the time is up, only kinds that have not come about are still tried. */
  const next = (): Fault | undefined => {
    const isLate = performance.now() > endMs
    const missing = faults.filter(({ kind }) => counts[kind]!.times === 0)
    if (isLate && (!isWhole || missing.length === 0 || performance.now() > endMs + longerMs)) return undefined
    if (isLate) deck = missing
    if (deck.length === 0) {
      round++
      deck = shuffled(
        faults.flatMap((fault) => Array.from({ length: cardsOf(fault, round) }, () => fault)),
        scene.random,
      )
    }
    const position = deck.findIndex(({ isWide = false }) => !(isWide && isWideUnderWay))
    return position === -1 ? deck.find(({ isWide }) => !isWide) : deck.splice(position, 1)[0]
  }

  const lane = async (): Promise<void> => {
    for (;;) {
      if (sinceQuiet >= faultsBetweenQuiet) await (quiet ??= makeQuiet())
      const fault = next()
      if (!fault) {
        if (performance.now() > endMs && !isWideUnderWay) return
        await delay(50)
        continue
      }
      sinceQuiet++
      if (fault.isWide) isWideUnderWay = true
      const { kind, isWide, undoes } = fault
      const told = { kind, ...(isWide && { isWide }), ...(undoes && { undoes }) }
      const call = history.next()
      underWay.add(call)
      history.say({ verb: 'fault', call, phase: 'begun', ...told })
      const met = await fault.inflict(scene).catch((error: unknown) => {
        if (isWide && !isOfAbsence(error)) throw error
        return 0
      })
      history.say({ verb: 'fault', call, phase: 'done', met, ...told })
      if (isWide) isWideUnderWay = false
      underWay.delete(call)
      const { times, met: before } = counts[kind]!
      counts[kind] = { times: times + Number(met > 0), met: before + met }
      if (met > 0) onFault(kind)
      await delay(scene.random() * 200)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return counts
}

/** With a weight below 1, a fault comes in some rounds only, the first among them. */
function cardsOf({ weight = 1 }: Fault, round: number): number {
  return weight >= 1
    ? weight
    : Number(Math.floor((round - 1) * weight) < Math.floor((round - 1) * weight + weight) || round === 1)
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item)
}

/** Whether the database was away, which other faults bring about. */
function isOfAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error
}
