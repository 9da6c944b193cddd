import { TaskError } from './task-error.ts'
import { taskKey, taskToString } from './task.ts'
import type { Task } from './task.ts'

/** Names a kind of supplement, and carries the type of its values. A token equals only itself: two tokens with one name are two kinds. */
export interface SupplementToken<Value> {
  readonly name: string
  readonly [type]?: (value: Value) => Value
}
declare const type: unique symbol

/**
 * Makes a new kind of supplement. Make it once, as a constant of the module from which the values come.
 *
 * @example
 * const Parsed = supplementToken<Invoice>('parsed')
 */
export function supplementToken<Value>(name: string): SupplementToken<Value> {
  return Object.freeze({ name })
}

/**
 * Values that the steps of one batch share. A value is found by its token, by its task or `'global'`, and by a qualifier if there are several of a
 * kind. Any object with the same topic, sequence and identifier stands for the same task.
 *
 * @example
 * supplement.register(Parsed, parse(task.input), task)
 * supplement.require(Parsed, task).total                                    // typed, in a later step
 * const rate = await supplement.suggest(Rate, () => fetchRate('EUR'), 'global', 'EUR')
 */
export class TaskSupplement {
  readonly #values: Map<Kind, Map<string, unknown>> = new Map()
  readonly #pending: Map<Kind, Map<string, Promise<unknown>>> = new Map()

  /** Adds a value. @throws TaskError SUPPLEMENT_DUPLICATE if there is one already, which stays */
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

  /** Returns the value. @throws TaskError SUPPLEMENT_MISSING if there is no value, or it is still being computed */
  require<Value>(token: SupplementToken<Value>, task: Task | 'global' = 'global', qualifier?: string): Value {
    const values = this.#values.get(token)
    const key = keyOf(task, qualifier)
    if (!values?.has(key)) {
      throw new TaskError(
        'SUPPLEMENT_MISSING',
        `There is no supplement ${describe(token, task, qualifier)}: an earlier step must register it`,
        { token: token.name, task, qualifier },
      )
    }
    return values.get(key) as Value
  }

  /** Returns the value; undefined if there is no value, or it is still being computed. */
  probe<Value>(token: SupplementToken<Value>, task: Task | 'global' = 'global', qualifier?: string): Value | undefined {
    return this.#values.get(token)?.get(keyOf(task, qualifier)) as Value | undefined
  }

  /**
   * Returns the value; if there is none, `factory` makes it. While an asynchronous factory is at work, other callers get its promise, so the
   * factories of one value must all be synchronous or all asynchronous. If the value is registered meanwhile, all of them get the registered value. A
   * factory that throws adds nothing.
   *
   * @returns the value, or a promise of the value while it is being computed; both can be awaited
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

/** A token of any type. The methods that take tokens know the type. */
type Kind = Pick<SupplementToken<unknown>, 'name'>

function under<Held>(held: Map<Kind, Map<string, Held>>, token: Kind): Map<string, Held> {
  const found = held.get(token)
  if (found) return found
  const added = new Map<string, Held>()
  held.set(token, added)
  return added
}

function keyOf(task: Task | 'global', qualifier: string | undefined): string {
  // mutants: equivalent condition:false, every task has a topic
  return JSON.stringify([task === 'global' ? null : taskKey(task), qualifier])
}

function describe(token: Kind, task: Task | 'global', qualifier: string | undefined): string {
  const of = task === 'global' ? 'for all tasks' : `of ${taskToString(task)}`
  return `"${token.name}"${qualifier === undefined ? '' : ` (${qualifier})`} ${of}`
}
