import { metrics, propagation, trace } from '@opentelemetry/api'
import type { Attributes, MeterProvider, TextMapPropagator, TracerProvider } from '@opentelemetry/api'
import { checkInteger, checkNames, checkText, invalid, optionNames } from '@taskstream/task-api'
import { database as conventions, schemaUrl, scopeName, scopeVersion, systemAttributes } from './core/conventions.ts'
import { Limits } from './core/limits.ts'
import { fleetMetrics } from './metrics/definitions.ts'
import { Fleet } from './metrics/fleet.ts'
import type { FleetOptions } from './metrics/fleet.ts'
import { MeterInstruments } from './metrics/meter.ts'
import { recordProcess } from './metrics/recording.ts'
import { hearActions, hearPolls } from './spans/action-spans.ts'
import { ProcessSpans } from './spans/process-spans.ts'
import { hearPushes } from './spans/push-spans.ts'
import type { Tracing } from './spans/tracing.ts'

export interface InstrumentOptions<Transaction> {
  /** Makes the spans. Default: the global provider. */
  readonly tracerProvider?: TracerProvider
  /** Makes the metrics. Default: the global provider. */
  readonly meterProvider?: MeterProvider
  /** Writes contexts into headers and reads them. Default: the global propagator. */
  readonly propagator?: TextMapPropagator
  /**
   * How the span of a handler is related to that of the push. With `child` the first attempt at a task that is handled alone is a child, and linked as
   * well; with `link` it begins a trace of its own. Later attempts and batches always do. Default `child`.
   */
  readonly relation?: 'child' | 'link'
  /** Whether polls that find tasks have spans. Default false. */
  readonly receiveSpans?: boolean
  /** Whether each task of a push has a span and a context of its own. Default false: they share that of the push. */
  readonly createSpans?: boolean
  /** Whether spans say the identifiers of tasks, which may be personal. Default false. */
  readonly identifiers?: boolean
  /** Whether tasks get the context of a push only if it is sampled, or always. Default `sampled`: a push that is not writes no byte more. */
  readonly inject?: 'sampled' | 'always'
  /**
   * Makes one name of several topics in metrics, such as those of all tenants. At most 200 names are told apart, and `_other` stands for all others.
   * Default: topics keep their names.
   */
  readonly topics?: (topic: string) => string
  /**
   * Where the database is, for all spans. Default: spans of pushes, polls, completions and actions say what the repository and its driver tell, which are
   * the kind of the database and, by `pg` and `mysql2`, the address of its server.
   */
  readonly database?: DatabaseOptions
  /** Metrics of the whole database, too. Give this to one process, or to few. */
  readonly fleet?: FleetOptions<Transaction>
}

export interface DatabaseOptions {
  /** The kind of the database, `db.system.name` of spans: `postgresql`, `mariadb`, `mysql`, `sqlite` or `oracle.db`. 1 to 100 characters. */
  readonly system?: string
  /** The name or the IP address of the server, `server.address` of spans. 1 to 255 characters. */
  readonly address?: string
  /** The port of the server, 1 to 65 535, beside an address. */
  readonly port?: number
}

const names = optionNames<InstrumentOptions<never>>('instrumentTaskstream', {
  tracerProvider: true,
  meterProvider: true,
  propagator: true,
  relation: true,
  receiveSpans: true,
  createSpans: true,
  identifiers: true,
  inject: true,
  topics: true,
  database: true,
  fleet: true,
})
const databaseNames = optionNames<DatabaseOptions>('database', { system: true, address: true, port: true })

/**
 * Makes spans and metrics of all that this process does with tasks, until the returned value is disposed of. Call it after the providers are registered
 * and once: a second call would measure everything twice.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * new NodeSDK().start()
 * instrumentTaskstream()
 */
export function instrumentTaskstream<Transaction = unknown>(options: InstrumentOptions<Transaction> = {}): Disposable {
  checkNames(names, options)
  const {
    tracerProvider = trace,
    meterProvider = metrics,
    propagator = propagation,
    relation = 'child',
    inject = 'sampled',
  } = options
  const { receiveSpans = false, createSpans = false, identifiers = false, topics, fleet } = options
  const all = systemAttributes()
  const system = { ...all, ...databaseAttributes(options.database) }
  const tracer = tracerProvider.getTracer(scopeName, scopeVersion, { schemaUrl })
  const tracing: Tracing = { tracer, propagator, system, inject, relation, identifiers, createSpans, receiveSpans }
  const limits = new Limits(topics)
  const read = fleet && new Fleet(fleet, limits)
  const instruments = new MeterInstruments(meterProvider.getMeter(scopeName, scopeVersion, { schemaUrl }), all)
  const ends = [
    ...hearPushes(tracing),
    ...new ProcessSpans(tracing).hear(),
    hearActions(tracing),
    ...(receiveSpans ? [hearPolls(tracing)] : []),
    recordProcess(instruments, limits),
  ]
  if (read) ends.push(instruments.observe(Object.values(fleetMetrics), () => read.observations()))
  return { [Symbol.dispose]: () => ends.splice(0).forEach((end) => end()) }
}

function databaseAttributes(options: DatabaseOptions = {}): Attributes {
  checkNames(databaseNames, options)
  const { system, address, port } = options
  if (system !== undefined) checkText('database.system', system, 100)
  if (address !== undefined) checkText('database.address', address, 255)
  if (port !== undefined) {
    checkInteger('database.port', port, 1, 65_535)
    if (address === undefined) throw invalid('database.port', port, 'must stand beside an address')
  }
  return {
    ...(system !== undefined && { [conventions.system]: system }),
    ...(address !== undefined && { [conventions.address]: address }),
    ...(port !== undefined && { [conventions.port]: port }),
  }
}
