/** A process of its own for one measurement: what others have made of the heap, and of the code, is not in its way. */
import { fork } from 'node:child_process'
import { once } from 'node:events'

/** Gives the script an order, and returns the one message that it answers. */
export async function ask<Answer>(script: string, order: object, flags: readonly string[] = []): Promise<Answer> {
  const child = fork(new URL(script, import.meta.url), { stdio: 'inherit', execArgv: [...process.execArgv, ...flags] })
  const answered = once(child, 'message') as Promise<[Answer]>
  const exited = once(child, 'exit').then(() => undefined)
  child.send(order)
  const answer = await Promise.race([answered, exited])
  if (!answer) throw new Error(`${script} has ended without a word, given ${JSON.stringify(order)}`)
  await exited
  return answer[0]
}
