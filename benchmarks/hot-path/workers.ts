/** Forks workers, starts them at the same moment and takes the time until the last one has ended. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export async function race(script: string, orders: readonly object[], expected: number): Promise<number> {
  const workers: ChildProcess[] = []
  for (const order of orders) {
    const worker = fork(new URL(script, import.meta.url), { stdio: 'inherit' })
    const ready = once(worker, 'message')
    worker.send(order)
    await ready
    workers.push(worker)
  }
  const started = performance.timeOrigin + performance.now()
  const results = workers.map(async (worker) => {
    worker.send('go')
    const [result] = (await once(worker, 'message')) as [{ tasks: number; ended: number }]
    await once(worker, 'exit')
    return result
  })
  const ended = await Promise.all(results)
  const tasks = ended.reduce((sum, each) => sum + each.tasks, 0)
  if (tasks !== expected) throw new Error(`${script} finished ${tasks} of ${expected} tasks`)
  return (expected / (Math.max(...ended.map((each) => each.ended)) - started)) * 1000
}
