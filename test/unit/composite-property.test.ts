/**
 * Any graph of steps, whatever they decide, throw, leave out or make up, comes to what a short reference says it must. A failure prints
 * its smallest graph and its seed; TASKSTREAM_SEED runs it again.
 */
import { TaskDecision, TaskDecisionError, taskResults } from '@taskstream/task-api'
import type { HeldTask, TaskError } from '@taskstream/task-api'
import { composite } from '@taskstream/task-processor'
import type { Composite } from '@taskstream/task-processor'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide, heldTasks } from '../composite.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const tasks = heldTasks('a', 'b', 'c', 'd')
const stranger = heldTasks('x')[0] as HeldTask
/** By weight, the heaviest first. */
const results = ['failure', 'suspension', 'filter', 'success'] as const

/** Returned or thrown, a decision or none. */
interface Act {
  readonly throws: boolean
  readonly decided?: { readonly result: (typeof results)[number]; readonly continued: boolean }
}

interface PlannedStep {
  readonly kind: 'each' | 'batch'
  /** Which of the steps before it waits for. */
  readonly after: readonly number[]
  /** What it does of each task; a batch step cannot throw of one. */
  readonly acts: readonly Act[]
  /** What a batch step does of all its tasks instead. */
  readonly together: Act | undefined
  /** A batch step decides of a task that it was not given. */
  readonly strange: boolean
  /** How long it takes, in turns of the event loop. */
  readonly turns: number
}

const decided = fc.record({ result: fc.constantFrom('success' as const, ...taskResults), continued: fc.boolean() })
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ throws: fc.boolean(), decided }) },
  { weight: 1, arbitrary: fc.record({ throws: fc.boolean() }) },
)
const step = (index: number): fc.Arbitrary<PlannedStep> => {
  const shared = {
    after: index === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat(index - 1), { maxLength: 3 }),
    acts: fc.array(act, { minLength: tasks.length, maxLength: tasks.length }),
    turns: fc.nat(3),
  }
  const never = { together: fc.constant(undefined), strange: fc.constant(false) }
  return fc.oneof(
    fc.record({ kind: fc.constant('each' as const), ...shared, ...never }),
    fc.record({ kind: fc.constant('batch' as const), ...shared, ...never }),
    fc.record({ kind: fc.constant('batch' as const), ...shared, ...never, together: act }),
    fc.record({ kind: fc.constant('batch' as const), ...shared, ...never, strange: fc.nat(3).map((one) => one === 0) }),
  )
}
const graph = fc
  .integer({ min: 1, max: 12 })
  .chain((size) => fc.tuple(...Array.from({ length: size }, (_, index) => step(index))))

/** Of a task: its result as a place in `results`, whether it goes on, and what was said of it. */
type Outcome = readonly [place: number, continued: boolean, words: ReadonlySet<string>]

const merge = (left: Outcome, right: Outcome): Outcome => [
  Math.min(left[0], right[0]),
  left[1] && right[1],
  new Set([...left[2], ...right[2]]),
]
const show = ([place, continued, words]: Outcome): string => `${results[place]} ${continued} ${[...words].sort().join()}`

/** The reference. */
function expected(steps: readonly PlannedStep[]): string[] | string {
  const untouched: Outcome = [3, true, new Set()]
  const outcomes: Outcome[][] = []
  let strange = false
  for (const [index, { kind, after, acts, together, ...step }] of steps.entries()) {
    const incoming = tasks.map((_, task) => after.map((awaited) => outcomes[awaited]![task]!).reduce(merge, untouched))
    strange ||= step.strange && incoming.some(([, continued]) => continued)
    const outcome = incoming.map((before, task): Outcome => {
      const { throws, decided } = together ?? acts[task]!
      const failure = (...words: string[]): Outcome => merge(before, [0, false, new Set(words)])
      if (!before[1]) return before
      if (decided) return merge(before, [results.indexOf(decided.result), decided.continued, new Set([`step ${index}`])])
      if (throws && (kind === 'each' || together)) return failure(`step ${index}`, 'by the policy')
      return kind === 'batch' && !together ? failure(`Step "${index}" returned no decision for this task`) : before
    })
    outcomes.push(outcome)
  }
  const leaves = outcomes.filter((_, index) => !steps.some(({ after }) => after.includes(index)))
  return strange ? 'TASK_UNKNOWN' : tasks.map((_, task) => show(leaves.map((leaf) => leaf[task]!).reduce(merge, untouched)))
}

function build(steps: readonly PlannedStep[]): Composite<unknown, string> {
  let pipeline: Composite<unknown, string> = composite()
  for (const [index, { kind, acts, together, strange, turns, ...step }] of steps.entries()) {
    const after = step.after.map(String)
    const perform = ({ throws, decided }: Act): TaskDecision | undefined => {
      const decision = decided && TaskDecision[decided.result](`step ${index}`).withContinuation(decided.continued)
      if (throws) throw decision ? new TaskDecisionError(decision) : new Error(`step ${index}`)
      return decision
    }
    const pause = async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
    }
    const one = async ({ sequence }: HeldTask): Promise<TaskDecision | undefined> => {
      await pause()
      return perform(acts[sequence]!)
    }
    const many = async (given: readonly HeldTask[]): Promise<Map<HeldTask, TaskDecision> | undefined> => {
      await pause()
      const all = together && perform(together)
      if (together) return all && new Map(given.map((task) => [task, all]))
      const own = given.flatMap((task): [HeldTask, TaskDecision][] => {
        const decision = perform({ ...acts[task.sequence]!, throws: false })
        return decision ? [[task, decision]] : []
      })
      return new Map([...own, ...(strange ? [[stranger, TaskDecision.success()] as const] : [])])
    }
    pipeline =
      kind === 'each'
        ? pipeline.each(String(index), one, { after, concurrency: 1 + turns })
        : pipeline.batch(String(index), many, { after })
  }
  return pipeline
}

async function actual(steps: readonly PlannedStep[]): Promise<string[] | string> {
  try {
    const decisions = await decide(build(steps), tasks)
    expect([...decisions.keys()]).toEqual(tasks)
    return [...decisions.values()].map(({ result, continued, explanations }) => {
      const words = explanations.map((one) => (typeof one === 'string' ? one : one.message))
      return show([results.indexOf(result), continued, new Set(words)])
    })
  } catch (error) {
    return (error as TaskError).code
  }
}

test(`any graph of steps comes to what the reference says (seed ${seed})`, async () => {
  let strange = 0
  const comes = fc.asyncProperty(graph, async (steps) => {
    const reference = expected(steps)
    strange += Number(reference === 'TASK_UNKNOWN')
    expect(await actual(steps)).toEqual(reference)
  })
  await fc.assert(comes, { numRuns: 1_000, seed })
  // Neither kind of outcome is a rarity.
  expect(strange).toBeGreaterThan(50)
  expect(strange).toBeLessThan(900)
})
