import { checkInput, checkNames, checkText, jsonOf, optionNames, readInput, TaskError } from '@taskstream/task-api'
import type { Execution, InputSchema, Outcome, TimedTaskRepository } from '@taskstream/task-api'
import { periodicLimits } from './definition.ts'
import { schedule } from './edit.ts'
import type { Scheduled } from './edit.ts'
import { list } from './look.ts'
import type { PeriodicTask, PeriodicTaskInfo } from './periodic-task.ts'
import { answer, bindSteps } from './steps.ts'
import type { Steps, Work } from './steps.ts'

export interface TypedTasksOptions<Input> {
  /** The scope of the timers: 1 to 200 characters. Default `system`. */
  readonly scope?: string
  /** The kind of task: 1 to 200 characters. */
  readonly name: string
  readonly topic: string
  /** The schema of the inputs, which are stored as JSON. */
  readonly input: InputSchema<Input>
}

const names = optionNames<TypedTasksOptions<never>>('typedTasks', { scope: true, name: true, topic: true, input: true })

/** A timer of one kind, with an input that fits the kind's schema. */
export interface TypedTask<Input> extends Omit<PeriodicTask, 'name' | 'topic' | 'input'> {
  readonly input: Input
}

export interface TypedTaskInfo<Input> extends Omit<PeriodicTaskInfo, 'input'> {
  readonly input: Input
}

/** Adds, changes and finds the timers of one kind in one scope. Other timers are not reached. */
export interface TypedTasks<Transaction, Input, E extends Execution = 'async'> {
  /**
   * Adds a timer, or changes the timer of the same id.
   *
   * @throws TaskError INPUT_INVALID, ARGUMENT_INVALID, TIMER_INVALID, TOPIC_UNKNOWN; TIMER_DUPLICATE if a timer of another kind has the id. Nothing was
   * written then
   */
  schedule(transaction: Transaction, task: TypedTask<Input>): Outcome<E, Scheduled>
  /**
   * Keeps one timer of this kind: changes the first timer whatever its id is, or adds one, and removes all others.
   *
   * @throws TaskError as `schedule`. Nothing was written then
   */
  scheduleOne(transaction: Transaction, task: TypedTask<Input>): Outcome<E, Scheduled>
  /** Finds the only timer of this kind. @throws TaskError TIMER_AMBIGUOUS if there are several; INPUT_INVALID */
  one(transaction: Transaction): Outcome<E, TypedTaskInfo<Input> | undefined>
  /** Lists the timers of this kind in order of their ids. @throws TaskError INPUT_INVALID */
  list(transaction: Transaction): Outcome<E, TypedTaskInfo<Input>[]>
  /** Removes all timers of this kind. @returns how many there were */
  removeAll(transaction: Transaction): Outcome<E, number>
  /** Reads the input of a submitted task, for its handler. @throws TaskError INPUT_INVALID */
  inputOf(task: { readonly input?: string }): Input
}

/**
 * Makes the access to timers of one kind with a typed input: mailboxes to scan, say, or reports to send.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const scans = typedTasks(tasks, { scope: 'acme/ann', name: 'scan-mailbox', topic: 'mail', input: z.object({ folder: z.string() }) })
 * await scans.schedule(tx, { id: 'inbox', timer: 'hourly', input: { folder: 'INBOX' } })
 */
export function typedTasks<Transaction, E extends Execution, Input>(
  repository: TimedTaskRepository<Transaction, E>,
  options: TypedTasksOptions<Input>,
): TypedTasks<Transaction, Input, E> {
  checkNames(names, options)
  const { scope = 'system', name, topic, input: schema } = options
  checkText('scope', scope, periodicLimits.nameLength)
  checkText('name', name, periodicLimits.nameLength)
  const typed = (info: PeriodicTaskInfo): TypedTaskInfo<Input> => ({ ...info, input: readInput(schema, name, info.input) })
  function* store(work: Work, task: TypedTask<Input>): Steps<Scheduled> {
    const checked = { ...task, name, topic, input: jsonOf(name, checkInput(schema, name, task.input)) }
    const { id } = task
    checkText('id', id, periodicLimits.nameLength)
    const found = yield* answer(work.timers.lock(work.transaction, { scope, id }))
    if (found && found.name !== name)
      throw new TaskError('TIMER_DUPLICATE', `The scope "${scope}" has a timer "${id}" that is no "${name}": choose another id`, {
        scope,
        id,
      })
    return yield* schedule(work, { scope, application: null }, checked)
  }
  function* removeBut(work: Work, kept?: string): Steps<number> {
    const others = (yield* list(work, scope, { name })).filter(({ id }) => id !== kept)
    for (const { id } of others) yield* answer(work.timers.remove(work.transaction, { scope, id }, name))
    return others.length
  }
  return {
    schedule: bindSteps(repository, store),
    scheduleOne: bindSteps(repository, function* (work, task: TypedTask<Input>) {
      const [first] = yield* list(work, scope, { name })
      const id = first?.id ?? task.id
      const scheduled = yield* store(work, { ...task, id })
      yield* removeBut(work, id)
      return scheduled
    }),
    one: bindSteps(repository, function* (work) {
      const [first, second] = yield* list(work, scope, { name })
      if (!second) return first && typed(first)
      throw new TaskError('TIMER_AMBIGUOUS', `The scope "${scope}" has several timers "${name}": scheduleOne keeps one`, {
        scope,
        name,
      })
    }),
    list: bindSteps(repository, function* (work) {
      return (yield* list(work, scope, { name })).map(typed)
    }),
    removeAll: bindSteps(repository, (work) => removeBut(work)),
    inputOf: ({ input }) => readInput(schema, name, input),
  }
}
