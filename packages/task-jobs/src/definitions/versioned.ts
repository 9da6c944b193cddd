import { checkInput, invalid, isTaskError, jsonOf, TaskError } from '@taskstream/task-api'
import type { InputSchema } from '@taskstream/task-api'
import type { JsonOnly } from './json-only.ts'
import { checkSchema } from './task-settings.ts'

/**
 * The schemas of an input in all its versions. For those who push it is the newest schema. A handler is given older inputs too, which are brought up
 * to that one.
 */
export interface VersionedSchema<Input, Given = unknown> extends InputSchema<Input, Given> {
  /** The version of what is pushed: 1 for the first schema, and one more for each `to`. */
  readonly version: number
  /**
   * Makes the next version. The schemas before it stay as they are, for inputs that were pushed with them.
   *
   * @param next the schema of what is pushed from now on
   * @param upcast makes an input of the next version. It takes what the schema before has made of an older input, and returns what the next schema is
   * given. It returns at once, and has no effects, as `check` calls it too. If it throws, or what it returns does not fit, the job fails with the
   * reason `terminated`
   * @throws TaskError ARGUMENT_INVALID
   */
  to<NextInput, NextGiven>(
    next: InputSchema<NextInput, NextGiven> & JsonOnly<NextGiven>,
    upcast: (old: Input) => NoInfer<NextGiven>,
  ): VersionedSchema<NextInput, NextGiven>
}

/** The version before a version, and the way up from it. */
interface Older {
  readonly schema: Versioned<unknown, unknown>
  readonly upcast: (old: never) => unknown
}

/**
 * Begins the versions of an input, for `defineJob` and `defineTopic`. The version is stored with each task from version 2 on, so a schema needs no
 * `versioned` before it changes: what was pushed without is version 1.
 *
 * @param first the schema of version 1
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const Total = versioned(z.object({ id: z.number() }))
 *   .to(z.object({ id: z.number(), currency: z.string() }), (old) => ({ ...old, currency: 'NOK' }))
 * const invoice = defineJob('invoice', { input: Total })
 */
export function versioned<Input, Given>(first: InputSchema<Input, Given> & JsonOnly<Given>): VersionedSchema<Input, Given> {
  return new Versioned<Input, Given>('first', first, undefined)
}

class Versioned<Input, Given> implements VersionedSchema<Input, Given> {
  readonly version: number
  readonly #schema: InputSchema<Input, Given>
  readonly #older: Older | undefined

  constructor(argument: string, schema: InputSchema<Input, Given>, older: Older | undefined) {
    if (schema === undefined) throw invalid(argument, schema, 'must be given: a schema, or json<T>()')
    checkSchema(argument, schema)
    if (schema instanceof Versioned) throw invalid(argument, schema, 'must be the schema of one version, and has versions itself')
    this.#schema = schema
    this.#older = older
    this.version = older === undefined ? 1 : older.schema.version + 1
    Object.freeze(this)
  }

  get '~standard'(): InputSchema<Input, Given>['~standard'] {
    return this.#schema['~standard']
  }

  to<NextInput, NextGiven>(
    next: InputSchema<NextInput, NextGiven>,
    upcast: (old: Input) => NextGiven,
  ): VersionedSchema<NextInput, NextGiven> {
    if (typeof upcast !== 'function') throw invalid('upcast', upcast, 'must be a function of what the schema before it makes')
    return new Versioned('next', next, { schema: this as Versioned<unknown, unknown>, upcast })
  }

  /** Checks a value that was pushed as this version or an older one, after each step upwards. */
  read(name: string, value: unknown, pushedAs: number): Input {
    if (pushedAs === this.version || !this.#older) return this.#check(name, value, pushedAs)
    const { schema, upcast } = this.#older
    const old = schema.read(name, value, pushedAs) as never
    const brought = this.#broughtUp(name, pushedAs, () => upcast(old))
    return this.#check(name, brought, pushedAs)
  }

  #check(name: string, value: unknown, pushedAs: number): Input {
    try {
      return checkInput(this.#schema, name, value)
    } catch (cause) {
      if (!isTaskError(cause, 'INPUT_INVALID')) throw cause
      const issues = cause.data['issues'] as readonly string[]
      throw misfit(name, pushedAs, `does not fit the schema of version ${this.version}: ${issues.join('; ')}`, cause, issues)
    }
  }

  /** Calls an upcast. What it returns goes through JSON, so that the next schema sees what a push of it would have stored. */
  #broughtUp(name: string, pushedAs: number, upcast: () => unknown): unknown {
    const to = `to version ${this.version}`
    let given: unknown
    try {
      given = upcast()
    } catch (cause) {
      throw misfit(
        name,
        pushedAs,
        `the upcast ${to} has thrown: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause,
      )
    }
    if (given instanceof Promise) {
      // Nobody else would take notice of its rejection, and the process would end.
      given.catch(() => {})
      throw invalid('upcast', given, `of "${name}" ${to} must return at once, without awaiting anything`)
    }
    try {
      return JSON.parse(jsonOf(name, given))
    } catch (cause) {
      throw misfit(name, pushedAs, `the upcast ${to} has returned what is no JSON`, cause)
    }
  }
}

function misfit(name: string, version: number, what: string, cause: unknown, issues: readonly string[] = [what]): TaskError {
  return new TaskError(
    'INPUT_INVALID',
    `The input of a task "${name}" was pushed as version ${version}, and ${what}`,
    { name, version, issues },
    { cause },
  )
}

export function isVersioned(schema: unknown): boolean {
  return schema instanceof Versioned
}

/** The version of what is pushed by a schema. */
export function versionOf(schema: InputSchema<unknown>): number {
  return schema instanceof Versioned ? schema.version : 1
}

/**
 * Checks a value that was pushed as a version of a schema, and brings it up to the newest.
 *
 * @param pushedAs 1 to the version of the schema
 * @throws TaskError INPUT_INVALID, also if an upcast throws; ARGUMENT_INVALID if a schema or an upcast answers later
 */
export function readVersion(schema: InputSchema<unknown>, name: string, value: unknown, pushedAs: number): unknown {
  // What is of the newest version needs no word of it in its error.
  return schema instanceof Versioned && pushedAs < schema.version
    ? schema.read(name, value, pushedAs)
    : checkInput(schema, name, value)
}
