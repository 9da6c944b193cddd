/** What becomes of tasks of TaskLib and asyncjobs, whichever words they are submitted in: a model without a database, a clock or concurrency. */
import * as fc from 'fast-check'

/** What a handler does at a try: returns, throws, takes longer than it may, or says that the task is not to be tried again. */
export const outcomes = ['returns', 'throws', 'hangs', 'terminates'] as const
export type TryOutcome = (typeof outcomes)[number]

/** Why a task has failed. */
export type Why = 'tries' | 'terminated' | 'deadline' | 'cancelled' | 'unreachable'

export interface Plan {
  /** What the handler does at each call. The last one repeats. */
  readonly script: readonly TryOutcome[]
  readonly mostTries: number
  /** Whether the deadline is over when the task is submitted. */
  readonly isLate: boolean
  /** Whether it waits for an hour. */
  readonly isDelayed: boolean
}

const kinds = ['submit', 'submit', 'submit', 'submit', 'cancel', 'retry', 'retry', 'remove', 'die', 'run', 'run'] as const

/** A step of a history. Tasks are picked among those that there are. */
export const step = fc.record({
  kind: fc.constantFrom(...kinds),
  pick: fc.nat(1_000),
  /** What a new task depends on. */
  picks: fc.array(fc.nat(1_000), { maxLength: 2 }),
  /** Whether it depends on a task that is not there, too. */
  isOrphan: rarely(),
  plan: fc.record({
    script: fc.array(fc.constantFrom('returns', 'returns', ...outcomes), { minLength: 1, maxLength: 4 }),
    mostTries: fc.integer({ min: 1, max: 3 }),
    isLate: rarely(),
    isDelayed: rarely(),
  }),
})
export type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

function rarely(): fc.Arbitrary<boolean> {
  return fc.integer({ min: 0, max: 7 }).map((number) => number === 7)
}

export interface ModelTask {
  readonly id: string
  readonly plan: Plan
  readonly needs: readonly string[]
  state: 'waits' | 'done' | 'failed'
  why: Why | undefined
  tries: number
  /** How often a handler was called with it, whoever had it tried again since. */
  calls: number
  isLate: boolean
  isDelayed: boolean
  /** Whether a poll has taken it. */
  wasTaken: boolean
  /** Whether it was tried again by hand, after it was taken, and not taken since. */
  isAgain: boolean
  /** Whether a process has it that has died. */
  isHeld: boolean
}

export class FacadeModel {
  readonly tasks: Map<string, ModelTask> = new Map()

  submit(id: string, plan: Plan, needs: readonly string[]): void {
    const { isLate, isDelayed } = plan
    const rest = {
      why: undefined,
      tries: 0,
      calls: 0,
      isLate,
      isDelayed,
      wasTaken: false,
      isAgain: false,
      isHeld: false,
    } as const
    this.tasks.set(id, { id, plan, needs, state: 'waits', ...rest })
  }

  cancel(task: ModelTask): void {
    if (task.state === 'waits') this.#fail(task, 'cancelled')
  }

  /** @returns false if the task cannot be tried again by hand: it is ready, or waits for others */
  retry(task: ModelTask): boolean {
    if (task.state === 'waits' && !task.isDelayed) return false
    Object.assign(task, { state: 'waits', why: undefined, tries: 0, isLate: false, isDelayed: false, isAgain: task.wasTaken })
    return true
  }

  /** @returns false if another task waits for it */
  remove({ id }: ModelTask): boolean {
    if (this.#waiting().some(({ needs }) => needs.includes(id))) return false
    return this.tasks.delete(id)
  }

  /** A process takes tasks, and dies: each has had a try. @param late tasks that its poll has found too late */
  die(ids: readonly string[], late: readonly string[]): void {
    for (const task of late.map((id) => this.tasks.get(id)!)) if (task.state === 'waits') this.#fail(task, 'deadline')
    for (const task of ids.map((id) => this.tasks.get(id)!)) {
      task.tries++
      Object.assign(task, { isHeld: true, wasTaken: true, isAgain: false })
    }
  }

  /** Workers run until nothing more happens. */
  run(): void {
    for (let moved = true; moved;) {
      moved = false
      for (const task of this.#waiting()) if (this.#moved(task)) moved = true
    }
  }

  #waiting(): ModelTask[] {
    return [...this.tasks.values()].filter(({ state }) => state === 'waits')
  }

  #moved(task: ModelTask): boolean {
    const needed = new Set(task.needs.map((id) => this.tasks.get(id)?.state ?? 'failed'))
    if (needed.has('failed')) return this.#fail(task, 'unreachable')
    if (needed.has('waits') || task.isDelayed) return false
    if (task.isLate) return this.#fail(task, 'deadline')
    Object.assign(task, { isHeld: false, wasTaken: true, isAgain: false })
    while (task.state === 'waits' && task.tries < task.plan.mostTries) {
      const { script } = task.plan
      const outcome = script[Math.min(task.calls, script.length - 1)]
      task.calls++
      task.tries++
      if (outcome === 'returns') task.state = 'done'
      if (outcome === 'terminates') this.#fail(task, 'terminated')
    }
    return task.state === 'waits' ? this.#fail(task, 'tries') : true
  }

  #fail(task: ModelTask, why: Why): true {
    const wasTaken = task.wasTaken || why === 'deadline'
    Object.assign(task, { state: 'failed', why, wasTaken, isHeld: false, isAgain: false })
    return true
  }
}
