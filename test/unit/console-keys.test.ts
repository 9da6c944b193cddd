/** Keys of the console: once, and not for long. */
import { expect, test } from 'vitest'
import { Keys } from '../../packages/task-cli/src/console/keys.ts'
import { Snapshot } from '../../packages/task-console/src/core/snapshot.ts'

const asking = (headers: Record<string, string>): Request => new Request('http://127.0.0.1/', { headers })

test('a key opens once, within a minute, and the one before it not at all', () => {
  let now = 0
  const keys = new Keys(4780, undefined, () => now)
  const first = keys.make()
  const second = keys.make()
  expect(keys.take(first)).toBeUndefined()
  const cookie = keys.take(second)!
  expect(keys.take(second)).toBeUndefined()
  expect(keys.opens(asking({ cookie: `other=1; ${cookie.split(';')[0]}` }))).toBe(true)
  expect(keys.opens(asking({ cookie: 'taskstream-4780=' }))).toBe(false)
  expect(keys.opens(asking({ authorization: 'Bearer undefined' }))).toBe(false)
  const late = keys.make()
  now = 60_001
  expect(keys.take(late)).toBeUndefined()
})

test('a look is shared while it is made and for ten times as long, and a failed one is not kept', async () => {
  let [now, count] = [0, 0]
  const looks: ((fails?: Error) => void)[] = []
  const snapshot = new Snapshot(
    () => new Promise<number>((resolve, reject) => looks.push((error) => (error ? reject(error) : resolve(++count)))),
    () => now,
  )
  const both = Promise.all([snapshot.get(), snapshot.get()])
  now = 500
  looks[0]!()
  expect(await both).toEqual([1, 1])
  now = 5_499
  expect(await snapshot.get()).toBe(1)
  now = 5_501
  const failing = snapshot.get()
  looks[1]!(new Error('gone'))
  await expect(failing).rejects.toThrow('gone')
  const again = snapshot.get()
  looks[2]!()
  expect(await again).toBe(2)
})
