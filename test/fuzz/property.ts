/** A property of one call: it draws arguments, changes them, calls, and judges what comes out. */
import * as fc from 'fast-check'
import type { TaskErrorCode } from '@taskstream/task-api'
import { judge } from './judge.ts'
import { mutated, mutations } from './mutation.ts'
import type { Mutation } from './mutation.ts'

/** One call with its valid arguments. */
export interface FuzzedCall<Drawn = never> {
  readonly name: string
  /** What is drawn, as plain data: a failure prints it. */
  readonly drawn: fc.Arbitrary<Drawn>
  /** Makes valid arguments of what is drawn. */
  readonly args: (drawn: Drawn) => readonly unknown[]
  readonly call: (...args: never[]) => unknown
  /** The errors that a valid call may throw. A call with changed arguments may also throw ARGUMENT_INVALID. */
  readonly codes: readonly TaskErrorCode[]
  /** The errors that a call with changed arguments may also throw. */
  readonly changedCodes?: readonly TaskErrorCode[]
  /** The errors after which notes of the product's own may have been written, which say nothing else than before. */
  readonly writtenWith?: readonly TaskErrorCode[]
  /** Texts that no error may show. */
  readonly secrets?: readonly string[]
  /** Whether the arguments are never changed, as only the product itself makes them. */
  readonly isUnchanged?: boolean
  /** Whether the call returns a promise. */
  readonly isAsync?: boolean
  /** Whether the drawn arguments may be refused. Default false. */
  readonly isWild?: boolean
}

/** Calls that share a world. */
export interface FuzzedWorld extends AsyncDisposable {
  readonly calls: readonly FuzzedCall[]
  /** Begins a case. */
  begin?(): void
  /** A number that changes with every write. */
  writes?(): number
  /** Takes back what a case has written. */
  end?(): void
}

export interface Tally {
  readonly name: string
  readonly cases: number
  readonly perSecond: number
  readonly slowestMs: number
  readonly refused: number
  readonly failure: string | undefined
}

/**
 * How much time of the processor a call may take, in milliseconds. Among tests it is only a guard against what grows without bound: on a busy machine
 * the same call takes several times as long.
 */
const mostMs = process.env['TASKSTREAM_TIER'] === undefined ? 100 : 3_000
const repetitions = 3

type Case = readonly [drawn: never, changes: readonly Mutation[]]

/** Runs one call with so many drawn arguments. */
export async function fuzz(world: FuzzedWorld, fuzzed: FuzzedCall, numRuns: number, seed: number): Promise<Tally> {
  let [slowestMs, refused, cases] = [0, 0, 0]
  const began = performance.now()
  const cases$: fc.Arbitrary<Case> = fc.tuple(fuzzed.drawn, fuzzed.isUnchanged ? fc.constant([]) : mutations)
  const note = (ms: number, error: unknown): void => {
    cases++
    slowestMs = Math.max(slowestMs, ms)
    if (error !== undefined) refused++
  }
  const parameters = { numRuns, seed }
  const details = fuzzed.isAsync
    ? await fc.check(
        fc.asyncProperty(cases$, async (one) => {
          for (let round = 1; ; round++) {
            const { ms, error } = await onceAsync(world, fuzzed, one)
            if (isQuick(ms, round)) return note(ms, error)
          }
        }),
        parameters,
      )
    : fc.check(
        fc.property(cases$, (one) => {
          for (let round = 1; ; round++) {
            const { ms, error } = once(world, fuzzed, one)
            if (isQuick(ms, round)) return note(ms, error)
          }
        }),
        parameters,
      )
  const seconds = (performance.now() - began) / 1_000
  return { name: fuzzed.name, cases, perSecond: Math.round(cases / seconds), slowestMs, refused, failure: describe(details) }
}

interface Outcome {
  readonly ms: number
  readonly error: unknown
}

/** A slow call is repeated, as a collection of garbage may have come in between. @throws Error if it is slow each time */
function isQuick(ms: number, round: number): boolean {
  if (ms <= mostMs) return true
  if (round < repetitions) return false
  throw new Error(`The call takes ${Math.round(ms)} ms of the processor`)
}

function once(world: FuzzedWorld, { args, call, ...rules }: FuzzedCall, [drawn, changes]: Case): Outcome {
  const given = mutated(args(drawn), changes)
  world.begin?.()
  try {
    const before = world.writes?.()
    const began = startTime()
    let error: unknown
    try {
      call(...(given as never[]))
    } catch (thrown) {
      error = asError(thrown)
    }
    const ms = began()
    judge(error, { ...rules, isChanged: changes.length > 0, hasWritten: before !== world.writes?.() })
    return { ms, error }
  } finally {
    world.end?.()
  }
}

async function onceAsync(world: FuzzedWorld, { args, call, ...rules }: FuzzedCall, [drawn, changes]: Case): Promise<Outcome> {
  const given = mutated(args(drawn), changes)
  world.begin?.()
  try {
    const before = world.writes?.()
    const began = startTime()
    let error: unknown
    try {
      await call(...(given as never[]))
    } catch (thrown) {
      error = asError(thrown)
    }
    const ms = began()
    judge(error, { ...rules, isChanged: changes.length > 0, hasWritten: before !== world.writes?.() })
    return { ms, error }
  } finally {
    world.end?.()
  }
}

/** What was thrown may be undefined. */
function asError(thrown: unknown): unknown {
  return thrown ?? new Error(`${String(thrown)} was thrown`)
}

/** Starts a measurement. The time of the processor is asked for only if the time of the clock is long, as that costs less. */
function startTime(): () => number {
  const [began, used] = [performance.now(), process.cpuUsage()]
  return () => {
    const ms = performance.now() - began
    if (ms <= mostMs) return ms
    const { user, system } = process.cpuUsage(used)
    return Math.min(ms, (user + system) / 1_000)
  }
}

function describe(details: fc.RunDetails<[Case]>): string | undefined {
  if (!details.failed) return undefined
  const { seed, counterexamplePath, counterexample, errorInstance } = details
  const error = errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance)
  return `seed ${seed}, path ${counterexamplePath}\n${shown(fc.stringify(counterexample?.[0]))}\n${error.slice(0, 2_500)}`
}

function shown(text: string): string {
  return text.length > 1_500 ? `${text.slice(0, 1_500)}…` : text
}
