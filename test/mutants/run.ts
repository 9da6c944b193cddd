/** Finds out which mutants die. Each is tried on the tests that reach its place, the quickest first, until one fails. */
import { basename } from 'node:path'
import type { Answer, Job, TestResult } from './job.ts'
import type { Mutant } from './mutant.ts'
import type { Session } from './session.ts'

export type Fate = 'killed' | 'survived' | 'timed out' | 'not covered' | 'equivalent'

export interface Outcome {
  readonly mutant: Mutant
  readonly fate: Fate
  /** The test that noticed the mutant. */
  readonly by?: string
}

/** The tests of a file that run together: those of one suite, or those outside any suite. */
interface Group {
  readonly file: string
  readonly suite: string
  readonly tests: ReadonlyMap<string, TestResult>
  /** The milliseconds that the group takes beside its tests. */
  readonly loadMs: number
}

/** The tests that reach a mutant, by group. Undefined stands for the whole group. */
type Reaching = Map<Group, Set<string> | undefined>

export interface Rehearsal {
  readonly reaching: ReadonlyMap<number, Reaching>
  /** The tests that fail without any mutant. A run with such tests says nothing. */
  readonly red: readonly string[]
}

/** A time-out of vitest. A hang does not count as a test's failure. */
const hung = /^(?:Test|Hook) timed out in /
/** A hang is slow, so a mutant that hangs so often is not tried further. */
const mostHangs = 2
/** Tests that have passed so often without a mutant, right after a failure, pass without one. */
const enoughPasses = 2

/** Runs every test without a mutant, to learn which places each test reaches and how long it takes. */
export async function rehearse(session: Session, mutants: readonly Mutant[], told: (file: string) => void): Promise<Rehearsal> {
  const reaching = new Map<number, Reaching>()
  const red: string[] = []
  for (const file of session.files) {
    const begun = performance.now()
    const job = { active: 0, mutants: mutants.length, file, bail: false, testTimeoutMs: 120_000, factTimeoutMs: 30_000 }
    const answer = await session.ask(job, 600_000)
    const failures = answer ? failuresOf(answer) : ['does not end']
    red.push(...failures.map((failure) => `${file}: ${failure}`))
    if (answer) note(reaching, file, answer, performance.now() - begun)
    told(file)
  }
  return { reaching, red }
}

function note(reaching: Map<number, Reaching>, file: string, answer: Answer, took: number): void {
  const bySuite = Map.groupBy(answer.tests, ({ suites: [suite = ''] }) => suite)
  const loadMs = Math.max(0, took - sum(answer.tests)) / bySuite.size
  const groups = [...bySuite].map(([suite, tests]): Group => ({
    file,
    suite,
    tests: new Map(tests.map((test) => [test.id, test])),
    loadMs,
  }))
  const add = (id: number, group: Group, tests: readonly TestResult[] | undefined): void => {
    const known: Reaching = reaching.get(id) ?? new Map()
    reaching.set(id, known)
    const chosen = known.get(group)
    if (!tests) known.set(group, undefined)
    else if (chosen) for (const test of tests) chosen.add(test.id)
    else if (!known.has(group)) known.set(group, new Set(tests.map(({ id }) => id)))
  }
  const whole: Group = {
    file,
    suite: '*',
    tests: new Map(answer.tests.map((test) => [test.id, test])),
    loadMs: loadMs * groups.length,
  }
  for (const [task, ids] of [...Object.entries(answer.byTask), ['', answer.onLoad] as const]) {
    // A place that is reached while the file loads, or in its hooks, tells no tests apart: all tests of the file run together.
    if (task === '') for (const id of ids) add(id, whole, undefined)
    for (const group of groups) {
      const all = task === group.suite
      const tests = all ? undefined : [...group.tests.values()].filter(({ id, suites }) => id === task || suites.includes(task))
      if (task !== '' && tests?.length !== 0) for (const id of ids) add(id, group, tests)
    }
  }
}

function sum(tests: readonly TestResult[]): number {
  return tests.reduce((total, { ms }) => total + ms, 0)
}

function failuresOf({ tests, failed }: Answer): string[] {
  const failures = tests.flatMap(({ name, passed, error }) => (passed ? [] : [`${name}: ${error?.split('\n')[0]}`]))
  return failures.length > 0 || failed === undefined ? failures : [failed]
}

/** Tries mutants. Groups that killed other mutants of the same source come early, and so do files of the same name. */
export class Trial {
  readonly #session: Session
  readonly #count: number
  readonly #reaching: ReadonlyMap<number, Reaching>
  readonly #kills = new Map<string, number>()
  /** Groups whose tests depend on each other, so that all tests of the group have to run. */
  readonly #dependent = new Set<Group>()
  /** How often tests have passed without a mutant after they had failed with one. */
  readonly #passes = new Map<string, number>()
  /** A test counts as hanging when it takes five times as long as without a mutant, and so many milliseconds more. */
  readonly #patienceMs: number
  /** A mutant that lives for so long has survived, because the likeliest tests came first. */
  readonly #budgetMs: number

  constructor(
    session: Session,
    { reaching }: Rehearsal,
    count: number,
    { patienceMs = 5_000, budgetMs = Infinity }: { readonly patienceMs?: number; readonly budgetMs?: number } = {},
  ) {
    this.#patienceMs = patienceMs
    this.#budgetMs = budgetMs
    this.#session = session
    this.#reaching = reaching
    this.#count = count
  }

  async fateOf(mutant: Mutant): Promise<Outcome> {
    const reaching = this.#reaching.get(mutant.id)
    if (!reaching) return { mutant, fate: 'not covered' }
    let hangs = 0
    const groups = this.#inOrder(mutant, reaching)
    // A statement that is built once is reached only by the first test that needs it, though later tests use it. So whole groups
    // come last.
    const whole = groups.filter(([, chosen]) => chosen).map(([group]) => [group, undefined] as const)
    const endMs = performance.now() + this.#budgetMs
    for (const [group, chosen] of [...groups, ...whole]) {
      if (performance.now() > endMs) break
      const by = await this.#try(mutant, group, chosen)
      if (by === 'hung') {
        if (++hangs === mostHangs) break
      } else if (by !== undefined) {
        const key = keyOf(mutant, group)
        this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1)
        return { mutant, fate: 'killed', by }
      }
    }
    return { mutant, fate: hangs > 0 ? 'timed out' : 'survived' }
  }

  #inOrder(mutant: Mutant, reaching: Reaching): [Group, Set<string> | undefined][] {
    const own = basename(mutant.file, '.ts')
    const cost = ([group, chosen]: [Group, Set<string> | undefined]): number => {
      const kills = (this.#kills.get(keyOf(mutant, group)) ?? 0) + (group.file.includes(own) ? 3 : 0)
      return timeOf(group, chosen) / (1 + 3 * kills)
    }
    return [...reaching].toSorted((left, right) => cost(left) - cost(right))
  }

  /** Returns the name of the test that notices, or undefined if none does. */
  async #try(mutant: Mutant, group: Group, chosen: Set<string> | undefined, retried = false): Promise<string | undefined> {
    const tests = [...group.tests.keys()].filter((id) => !chosen || this.#dependent.has(group) || chosen.has(id))
    const answer = await this.#ask(mutant.id, group, tests)
    if (!answer) return 'hung'
    const failed = answer.tests.find(({ passed, error = '' }) => !passed && !hung.test(error))
    const failure = failed?.name ?? (answer.failed !== undefined && !hung.test(answer.failed) ? answer.failed : undefined)
    if (failure === undefined) {
      if (failuresOf(answer).length === 0) return undefined
      // A test that hangs would go on during the next tests.
      await this.#session.restart()
      return 'hung'
    }
    // The failure counts only if the same tests pass without the mutant: other tests' leftovers may have caused it.
    const asked = failed ? tests.slice(0, tests.indexOf(failed.id) + 1) : tests.slice(0, 1)
    const key = asked.join(' ')
    const passes = this.#passes.get(key) ?? 0
    if (passes === enoughPasses) return failure
    const again = await this.#ask(0, group, asked)
    if (again && failuresOf(again).length === 0) {
      this.#passes.set(key, passes + 1)
      return failure
    }
    await this.#session.restart()
    // On a busy machine a test may fail without a mutant, so this failure says nothing.
    if (retried && this.#dependent.has(group)) return 'hung'
    if (retried) this.#dependent.add(group)
    return this.#try(mutant, group, chosen, true)
  }

  #ask(active: number, group: Group, tests: readonly string[]): Promise<Answer | undefined> {
    const slowest = Math.max(0, ...tests.map((id) => group.tests.get(id)?.ms ?? 0))
    const job: Job = {
      active,
      mutants: this.#count,
      file: group.file,
      tests,
      bail: true,
      testTimeoutMs: this.#patienceMs + 5 * slowest,
      factTimeoutMs: 3_000,
    }
    return this.#session.ask(job, 2 * this.#patienceMs + 5 * timeOf(group, new Set(tests)))
  }
}

function keyOf(mutant: Mutant, group: Group): string {
  return `${mutant.file} ${group.file} ${group.suite}`
}

function timeOf({ tests, loadMs }: Group, chosen: Set<string> | undefined): number {
  return loadMs + sum(chosen ? [...chosen].flatMap((id) => tests.get(id) ?? []) : [...tests.values()])
}
