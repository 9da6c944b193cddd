import { TaskError } from './task-error.ts'
import { taskKey, taskToString } from './task.ts'
import type { Task } from './task.ts'

/** Names a kind of supplement and carries its type. A token is equal to itself only: two of one name are two kinds. */
export interface SupplementToken<Value> {
  readonly name: string
  readonly [type]?: (value: Value) => Value
}
declare const type: unique symbol

/**
 * A new kind of supplement. Make it once, as a constant of the module that the values come from.
 *
 * @example
 * const Parsed = supplementToken<Invoice>('parsed')
 */
export function supplementToken<Value>(name: string): SupplementToken<Value> {
  return Object.freeze({ name })
}

/**
 * What the steps of one batch hand on to each other, by token, by task or for all of them (`'global'`), and by a qualifier where there
 * are several of a kind. The task counts, not the object: another with its topic, sequence and identifier finds the same.
 *
 * @example
 * supplement.register(Parsed, parse(task.input), task)
 * supplement.require(Parsed, task).total                                    // typed, in a later step
 * const rate = await supplement.suggest(Rate, () => fetchRate('EUR'), 'global', 'EUR')
 */
export class TaskSupplement {
  readonly #values: Map<Kind, Map<string, unknown>> = new Map()
  readonly #pending: Map<Kind, Map<string, Promise<unknown>>> = new Map()

  /** Adds a value. @throws TaskError SUPPLEMENT_DUPLICATE if there is one: the old one stays */
  register<Value>(token: SupplementToken<Value>, value: Value, task: Task | 'global' = 'global', qualifier?: string): void {
    const values = under(this.#values, token)
    const key = keyOf(task, qualifier)
    if (values.has(key)) {
      throw new TaskError('SUPPLEMENT_DUPLICATE', `There is a supplement ${describe(token, task, qualifier)} already`, {
        token: token.name,
        task,
        qualifier,
      })
    }
    values.set(key, value)
  }

  /** The value. @throws TaskError SUPPLEMENT_MISSING if there is none, or it is still being computed */
  require<Value>(token: SupplementToken<Value>, task: Task | 'global' = 'global', qualifier?: string): Value {
    const values = this.#values.get(token)
    const key = keyOf(task, qualifier)
    if (!values?.has(key)) {
      throw new TaskError(
        'SUPPLEMENT_MISSING',
        `There is no supplement ${describe(token, task, qualifier)}: it must be registered by an earlier step`,
        { token: token.name, task, qualifier },
      )
    }
    return values.get(key) as Value
  }

  /** The value, or undefined if there is none, or it is still being computed. */
  probe<Value>(token: SupplementToken<Value>, task: Task | 'global' = 'global', qualifier?: string): Value | undefined {
    return this.#values.get(token)?.get(keyOf(task, qualifier)) as Value | undefined
  }

  /**
   * The value; if there is none, what `factory` makes, which is the value from then on. While an asynchronous factory is at work others
   * share its promise: the factories of one value are all synchronous, or none is. A value registered meanwhile is the value for all of
   * them. A factory that throws leaves nothing behind.
   *
   * @returns the value, or the promise of it while it is computed: awaiting either is right
   */
  suggest<Value>(
    token: SupplementToken<Value>,
    factory: () => Promise<Value>,
    task?: Task | 'global',
    qualifier?: string,
  ): Value | Promise<Value>
  suggest<Value>(token: SupplementToken<Value>, factory: () => Value, task?: Task | 'global', qualifier?: string): Value
  suggest<Value>(
    token: SupplementToken<Value>,
    factory: () => Value | Promise<Value>,
    task: Task | 'global' = 'global',
    qualifier?: string,
  ): Value | Promise<Value> {
    const values = under(this.#values, token)
    const pending = under(this.#pending, token)
    const key = keyOf(task, qualifier)
    const settle = (value: Value): Value => {
      if (!values.has(key)) values.set(key, value)
      return values.get(key) as Value
    }
    if (values.has(key)) return values.get(key) as Value
    if (pending.has(key)) return pending.get(key) as Promise<Value>
    const made = factory()
    if (!(made instanceof Promise)) return settle(made)
    const settled = made.then(settle).finally(() => pending.delete(key))
    pending.set(key, settled)
    return settled
  }
}

/** A token of whatever type: its type is that of the method it is given to. */
type Kind = Pick<SupplementToken<unknown>, 'name'>

function under<Held>(held: Map<Kind, Map<string, Held>>, token: Kind): Map<string, Held> {
  const found = held.get(token)
  if (found) return found
  const added = new Map<string, Held>()
  held.set(token, added)
  return added
}

function keyOf(task: Task | 'global', qualifier: string | undefined): string {
  // mutants: equivalent condition:false, no task is without a topic
  return JSON.stringify([task === 'global' ? null : taskKey(task), qualifier])
}

function describe(token: Kind, task: Task | 'global', qualifier: string | undefined): string {
  const of = task === 'global' ? 'for all tasks' : `of ${taskToString(task)}`
  return `"${token.name}"${qualifier === undefined ? '' : ` (${qualifier})`} ${of}`
}
