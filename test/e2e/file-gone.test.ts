/** A SQLite file that is deleted or replaced under a process is missed, and nothing is written where nobody would find it. */
import { copyFile, rename, rm } from 'node:fs/promises'
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, json } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

describe.skipIf(!canRun)('the file of a database', () => {
  const fixture = useJobFixture()

  // Which shared memory a process has, only Linux tells.
  test.each(process.platform === 'linux' ? ['', '-shm'] : [''])(
    '%s that is moved away is missed by every process, which goes on once it is back',
    async (end) => {
      const job = defineJob(`moved${end}`, { input: json<number>() })
      const { at } = fixture.subject.location
      const handled: number[] = []
      const told = new Set<unknown>()
      await using stream = fixture.streamOf({
        heartbeatIntervalMs: 200,
        listener: { onError: ({ error }) => void told.add((error as { code?: string }).code) },
      })
      stream.handle(job, ({ input }) => void handled.push(input), { idleMs: 50 })
      await stream.start()
      await stream.submit(job, 1)
      await expect.poll(() => handled).toEqual([1])
      await rename(`${at}${end}`, `${at}${end}.away`)
      await expect.poll(() => stream.troubles, { timeout: 20_000 }).not.toEqual([])
      expect(told).toContain('DATABASE_UNAVAILABLE')
      expect(await codeOf(() => stream.submit(job, 2))).toBe('DATABASE_UNAVAILABLE')
      await rename(`${at}${end}.away`, `${at}${end}`)
      await expect.poll(() => stream.troubles, { timeout: 20_000 }).toEqual([])
      await stream.submit(job, 3)
      await expect.poll(() => handled).toEqual([1, 3])
    },
  )

  test('that was replaced by a copy is not written any more', async () => {
    const job = defineJob('replaced')
    const { at } = fixture.subject.location
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    await stream.submit(job)
    await copyFile(at, `${at}.copy`)
    await rename(at, `${at}.away`)
    await rename(`${at}.copy`, at)
    await expect.poll(() => codeOf(() => stream.submit(job)), { timeout: 20_000 }).toBe('DATABASE_UNAVAILABLE')
    await rm(at)
    await rename(`${at}.away`, at)
    await expect.poll(() => codeOf(() => stream.submit(job)), { timeout: 20_000 }).toMatchObject({ topic: 'replaced' })
  })
})
