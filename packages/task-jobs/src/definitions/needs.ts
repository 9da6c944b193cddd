/** What a job needs of others: by name, one job or many, which must succeed or only end. */
import { checkInteger, checkNames, checkText, invalid, taskLimits } from '@taskstream/task-api'
import type { OptionNames, TaskDependency, TaskReason, TaskState } from '@taskstream/task-api'
import type { AnyJob, EndOf } from './define-job.ts'
import type { JobRef } from './job-ref.ts'
import type { TaskDefinition } from './task-settings.ts'

/** Jobs of a definition that need not succeed. */
export interface SettledNeed<SomeJob extends AnyJob> {
  readonly settled: SomeJob
}

/** Any number of jobs of a definition. */
export interface ManyNeed<One extends AnyJob | SettledNeed<AnyJob>> {
  readonly many: One
}

/** The needs of a definition, by name. */
export type NeedMap = Readonly<Record<string, AnyJob | SettledNeed<AnyJob> | ManyNeed<AnyJob | SettledNeed<AnyJob>>>>

/** How a job has ended that need not succeed. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false
      /** Undefined if the job is not there any more. */
      readonly state: TaskState | undefined
      readonly reason: TaskReason | undefined
      /** The error of its last try, or the message of a decision. */
      readonly output: string | undefined
    }

type RefOf<One> =
  One extends SettledNeed<infer SomeJob> ? JobRef<SomeJob['name']> : One extends AnyJob ? JobRef<One['name']> : never
type ResultOf<One> = One extends SettledNeed<infer SomeJob> ? Settled<EndOf<SomeJob>> : One extends AnyJob ? EndOf<One> : never

/** What a push is given: the jobs that the new one needs. */
export type NeededRefs<Needs> = {
  readonly [Name in keyof Needs]: Needs[Name] extends ManyNeed<infer One> ? readonly RefOf<One>[] : RefOf<Needs[Name]>
}

/** What a handler is given: what those jobs have returned. */
export type NeededResults<Needs> = {
  readonly [Name in keyof Needs]: Needs[Name] extends ManyNeed<infer One> ? readonly ResultOf<One>[] : ResultOf<Needs[Name]>
}

/** A need of a definition that was checked. */
export interface Need {
  readonly job: AnyJob
  readonly many: boolean
  readonly tolerant: boolean
}

/**
 * Needs any number of jobs, none included. Their results come in the order in which the jobs were given.
 *
 * @example
 * const report = defineJob('report', { needs: { pages: many(page) }, output: json<number>() })
 */
export function many<One extends AnyJob | SettledNeed<AnyJob>>(job: One): ManyNeed<One> {
  return Object.freeze({ many: job })
}

/**
 * Needs a job to end, and not to succeed: the handler is told how it has ended.
 *
 * @example
 * const report = defineJob('report', { needs: { cover: settled(page) } })
 * stream.handle(report, ({ needs }) => (needs.cover.ok ? use(needs.cover.value) : warn(needs.cover.reason)))
 */
export function settled<SomeJob extends AnyJob>(job: SomeJob): SettledNeed<SomeJob> {
  return Object.freeze({ settled: job })
}

/** Checks the needs of a definition. @throws TaskError ARGUMENT_INVALID */
export function checkedNeeds(needs: NeedMap | undefined): ReadonlyMap<string, Need> | undefined {
  if (needs === undefined) return undefined
  if (typeof needs !== 'object' || needs === null || Array.isArray(needs))
    throw invalid('needs', needs, 'must be an object of jobs by their names, such as { pages: many(page) }')
  const checked = new Map<string, Need>()
  for (const [name, given] of Object.entries(needs)) {
    if (name === '' || name.length > 100) throw invalid('needs', name, 'must have names of 1 to 100 characters')
    const isMany = given !== null && typeof given === 'object' && 'many' in given
    const one = isMany ? given.many : given
    const tolerant = one !== null && typeof one === 'object' && 'settled' in one
    const job = tolerant ? one.settled : one
    if (typeof (job as Partial<AnyJob> | undefined)?.settings?.next !== 'function')
      throw invalid(`needs.${name}`, given, 'must be a job made by defineJob, or many or settled of one')
    checked.set(name, { job, many: isMany, tolerant })
  }
  if (checked.size === 0) throw invalid('needs', '{}', 'must have a job')
  return checked
}

/**
 * The dependencies of a job that is pushed.
 *
 * @param refs the jobs that it needs, by name
 * @throws TaskError ARGUMENT_INVALID
 */
export function dependenciesOf({ name, settings }: TaskDefinition, refs: unknown): TaskDependency[] {
  const { needs } = settings
  if (needs === undefined) {
    if (refs !== undefined)
      throw invalid('needs', refs, `must not be given: the ${settings.what} "${name}" is defined without needs`)
    return []
  }
  if (typeof refs !== 'object' || refs === null)
    throw invalid('needs', refs, `of the job "${name}" must be given: ${listed(needs)}`)
  checkNames(namesOf(name, needs), refs)
  return [...needs].flatMap(([need, { job, many: isMany, tolerant }]) => {
    const given = (refs as Readonly<Record<string, unknown>>)[need]
    const argument = `needs.${need}`
    if (isMany !== Array.isArray(given))
      throw invalid(argument, given, isMany ? 'must be a list of jobs that were pushed' : 'must be a job that was pushed')
    return ((isMany ? given : [given]) as readonly Partial<JobRef>[]).map((ref) => {
      if (ref?.job !== job.name) throw invalid(argument, ref?.job ?? ref, `must be what a push of the job "${job.name}" returned`)
      // A wrong reference is refused before the job is pushed, which would otherwise stay without its needs.
      const { topic, sequence } = ref
      checkText(`${argument}.topic`, topic, taskLimits.topicLength)
      checkInteger(`${argument}.sequence`, sequence, 0, Number.MAX_SAFE_INTEGER)
      return { need, on: { topic, sequence }, tolerant }
    })
  })
}

function listed(needs: ReadonlyMap<string, Need>): string {
  return [...needs.keys()].join(', ')
}

function namesOf(job: string, needs: ReadonlyMap<string, Need>): OptionNames {
  return { of: `the needs of "${job}"`, each: 'field', known: new Set(needs.keys()) }
}
