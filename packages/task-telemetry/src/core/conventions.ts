/**
 * Every name of OpenTelemetry's conventions that is emitted, in the one version in which it is emitted. The conventions of messaging are still in
 * development, and a constant of their package may go with its next release, so the names are written down here and compared with that package by a test.
 */
export const schemaUrl = 'https://opentelemetry.io/schemas/1.45.0'

/** The name of the tracer and of the meter. */
export const scopeName = '@taskstream/task-telemetry'

export const scopeVersion = '0.1.0'

const systemName = 'taskstream'

/** The conventions of messaging. */
export const messaging = {
  system: 'messaging.system.name',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  batchCount: 'messaging.batch.message_count',
  messageId: 'messaging.message.id',
  clientId: 'messaging.client.id',
} as const

/** The conventions of databases and servers. */
export const database = { system: 'db.system.name', address: 'server.address', port: 'server.port' } as const

export const errorType = 'error.type'

/** What is emitted as an error's type if it has none, or if there are too many types. */
export const otherError = '_OTHER'

/** What backends look for that know the older convention only. */
export const formerSystem = 'messaging.system'

/** Types of operations. */
export const operationTypes = { create: 'create', push: 'send', poll: 'receive', process: 'process', complete: 'settle' } as const

/** Our own names. */
export const own = {
  action: 'taskstream.action.count',
  activity: 'taskstream.node.activity',
  attempt: 'taskstream.task.attempt',
  batchMode: 'taskstream.batch.mode',
  check: 'taskstream.examination.check',
  identifier: 'taskstream.task.identifier',
  insertion: 'taskstream.insertion',
  outcome: 'taskstream.task.outcome',
  severity: 'taskstream.examination.severity',
  state: 'taskstream.task.state',
  step: 'taskstream.step',
  stuck: 'taskstream.task.stuck',
  tries: 'taskstream.task.tries',
} as const

/** The attribute for how many tasks of a batch had an outcome. */
export function outcomeCount(outcome: string): string {
  return `taskstream.batch.${outcome}`
}

/** The attribute that says which system this is, in the form that `OTEL_SEMCONV_STABILITY_OPT_IN` asks for. */
export function systemAttributes(
  optIn: string = process.env['OTEL_SEMCONV_STABILITY_OPT_IN'] ?? '',
): Readonly<Record<string, string>> {
  const doubled = optIn.split(',').some((value) => value.trim() === 'messaging/dup')
  return { [messaging.system]: systemName, ...(doubled && { [formerSystem]: systemName }) }
}
