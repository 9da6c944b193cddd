/** What names and describes a job stays what its definition says, whatever was pushed beside the jobs. */
import { defineJob, json, never } from 'taskstream'
import type { JobTags } from 'taskstream'
import { testStream } from 'taskstream/testing'
import { expect, test } from 'vitest'

test('an external id with @ in front, pushed beside the jobs, does not name another job', async () => {
  const job = defineJob('named')
  await using stream = await testStream({ jobs: [job] })
  const first = await stream.submit(job)
  stream.tasks.push(stream.database, job.name, { identifier: job.name, externalId: first.id })
  const [, other] = stream.list(stream.database, job)
  expect(other!.id).toBe(`@${other!.task.sequence}`)
  expect(stream.get(stream.database, job, other!.id)?.task.sequence).toBe(other!.task.sequence)
})

test.each([undefined, null, 7, ''])('a key function that returns %s is refused', async (returned) => {
  const job = defineJob('keyed', { input: json<number>(), key: () => returned as string })
  await using stream = await testStream({ jobs: [job] })
  await expect(stream.submit(job, 1)).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' })
})

test.each([[[1]], [{ a: { b: 1 } }], [{ a: Number.NaN }], [{ a: null }], ['text']])('tags %j are refused', async (given) => {
  const tags = given as unknown as JobTags
  const job = defineJob('tagged')
  await using stream = await testStream({ jobs: [job] })
  await expect(stream.submit(job, undefined, { tags })).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' })
  expect(() => defineJob('tagged', { tags })).toThrow('tags')
})

test('needs in a list are refused, as each has a name', () => {
  expect(() => defineJob('needy', { needs: [defineJob('needed')] as never })).toThrow(
    /needs must be an object of jobs by their names/,
  )
})

test('what others have put in the place of tags does not keep a job from going on', async () => {
  const next = defineJob('goes-on-to')
  const job = defineJob('goes-on', { retry: never, next: [next] })
  await using stream = await testStream()
  const tags: unknown[] = []
  stream.handle(job, (held) => {
    tags.push(held.tags)
    return held.next(next)
  })
  for (const given of ['text', 5, false, ['a'], { a: { b: 1 }, c: 'd' }])
    stream.tasks.push(stream.database, job.name, { identifier: job.name, headers: { tags: given } })
  await stream.drain()
  expect(tags).toEqual([{}, {}, {}, {}, { c: 'd' }])
  expect(await stream.pushed(next)).toHaveLength(5)
})
