/** Each measurement has a process of its own, so that other measurements affect neither its heap nor its compiled code. */
import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A process that answers each message with one message. */
export interface Worker extends AsyncDisposable {
  ask<Answer>(order: object): Promise<Answer>
}

export function startWorker(script: string, flags: readonly string[] = []): Worker {
  const child = fork(new URL(script, import.meta.url), { stdio: 'inherit', execArgv: [...process.execArgv, ...flags] })
  const exited = once(child, 'exit').then(() => undefined)
  return {
    ask: async <Answer>(order: object) => {
      const answered = once(child, 'message') as Promise<[Answer]>
      child.send(order)
      const answer = await Promise.race([answered, exited])
      if (!answer) throw new Error(`${script} has ended without a word, given ${JSON.stringify(order)}`)
      return answer[0]
    },
    // A worker whose channel is closed has nothing left to do, and ends.
    [Symbol.asyncDispose]: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
