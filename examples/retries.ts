import { byError, eachTask, exponential, fixed, never } from '@taskstream/task-processor'
import { testTasks } from '@taskstream/task-testing'

class RateLimited extends Error {}
class BadAddress extends Error {}

const retry = byError(
  [
    [RateLimited, fixed({ tries: 100, afterMs: 60_000 })],
    [BadAddress, never],
  ],
  exponential({ tries: 5, firstMs: 5_000 }),
)

const handler = eachTask(
  async ({ identifier, tries }) => {
    if (identifier === 'bad') throw new BadAddress('nowhere')
    if (identifier === 'limited' && tries < 3) throw new RateLimited('slow down')
    if (identifier === 'broken') throw new Error('always')
  },
  { timeoutMs: 30_000 },
)

await using tasks = await testTasks({ topics: ['mail'] })
await tasks.push('mail', 'fine', 'limited', 'bad', 'broken', { identifier: 'broken', maxTries: 2 })
const { handled } = await tasks.drain('mail', handler, { retry, advance: true })
const tries = new Map<string, string[]>()
for (const { task, state } of handled) {
  const key = `${task.identifier}@${task.sequence}`
  tries.set(key, [...(tries.get(key) ?? []), state])
}
for (const [task, states] of tries) console.log(`${task}: ${states.join(', ')}`)
