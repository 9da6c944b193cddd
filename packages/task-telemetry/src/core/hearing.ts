/** How channels are heard. */
import { thrownText } from '@taskstream/task-api'
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'

/** Undoes a subscription. */
export type Unsubscribe = () => void

/** What throws while it hears must not end the process, as an error in a subscriber would. It is told of once. */
function harmless<Message>(hear: (message: Message) => void): (message: unknown) => void {
  let hasThrown = false
  return (message) => {
    try {
      hear(message as Message)
    } catch (error) {
      if (!hasThrown) process.emitWarning(`Telemetry threw: ${thrownText(error)}`)
      hasThrown = true
    }
  }
}

/** Hears the messages of a channel. */
export function hear<Message>(name: string, listen: (message: Message) => void): Unsubscribe {
  const subscriber = harmless(listen)
  subscribe(name, subscriber)
  return () => void unsubscribe(name, subscriber)
}

export interface CallHearing<Call> {
  started?(call: Call): void
  /** Called once the call has ended. It has an `error`, or else a `result`. */
  ended(call: Call): void
}

/** Hears the calls of a tracing channel, whether they are synchronous or not. */
export function hearCalls<Call extends object>(name: string, { started, ended }: CallHearing<Call>): Unsubscribe {
  const channels = tracingChannel(name)
  const finish = harmless<Call>(ended)
  const start = harmless<Call>(started ?? (() => {}))
  // The first turn of a call that is asynchronous has neither of them.
  const end = (call: unknown): void => {
    if ('result' in (call as object) || 'error' in (call as object)) finish(call)
  }
  if (started) channels.start.subscribe(start)
  channels.end.subscribe(end)
  channels.asyncEnd.subscribe(finish)
  return () => {
    if (started) channels.start.unsubscribe(start)
    channels.end.unsubscribe(end)
    channels.asyncEnd.unsubscribe(finish)
  }
}

/** Keeps something about calls. It is a property of theirs, as entries of weak maps have to be collected one by one. */
export class Beside<Call extends object, Value> {
  readonly #key = Symbol('telemetry')

  get(call: Call): Value | undefined {
    return (call as { readonly [key: symbol]: Value | undefined })[this.#key]
  }

  set(call: Call, value: Value): void {
    ;(call as { [key: symbol]: Value | undefined })[this.#key] = value
  }
}
