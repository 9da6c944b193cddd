/** What steps push is collected, and pushed with the completion in as few statements as it takes. */
import { composite, pushing, tagging } from '@taskstream/task-processor'
import type { Creations, Pushes, Pushing } from '@taskstream/task-processor'
import { testTasks } from '@taskstream/task-testing'
import { expect, test } from 'vitest'
import { decide, heldTasks } from '../composite.ts'
import { codeOf } from '@taskstream/task-testing/suite'

const creations: Creations = [{ identifier: 'x', reference: 'own' }, { identifier: 'y', reference: ' ' }, 'z']

/** A task that pushes, and the references of what it pushed. */
async function references(
  outboxOf: (repository: Parameters<typeof pushing>[0]['repository']) => Pushing<unknown>,
): Promise<unknown[]> {
  await using tasks = await testTasks({ topics: ['mail', 'sent'] })
  await tasks.push('mail', 'a', 'b')
  const outbox = outboxOf(tasks.repository as never)
  const pipeline = composite({ contexts: [outbox] }).each('push', (task, supplement) => {
    if (task.identifier === 'b') supplement.require(outbox).pushByTask(task, 'sent', creations)
  })
  await tasks.drain('mail', pipeline)
  return tasks.repository.page(tasks.database, 'sent').map(({ identifier, reference }) => [identifier, reference])
}

test('tags give what is pushed the sequence of its task, or what one says of the task', async () => {
  expect(await references((repository) => pushing({ repository, postprocess: tagging() }))).toEqual([
    ['x', '2'],
    ['y', '2'],
    ['z', '2'],
  ])
  const referent = tagging(({ topic, identifier }) => `${topic}/${identifier}`, { override: false })
  expect(await references((repository) => pushing({ repository, postprocess: referent }))).toEqual([
    ['x', 'own'],
    ['y', 'mail/b'],
    ['z', 'mail/b'],
  ])
})

test('more than one push can take is pushed by several', async () => {
  await using tasks = await testTasks({ topics: ['mail', 'lines'] })
  await tasks.push('mail', 'a')
  const outbox = pushing({ repository: tasks.repository })
  const lines = Array.from({ length: 100_001 }, (_, index) => String(index))
  const pipeline = composite({ contexts: [outbox] }).each('push', (task, supplement) =>
    supplement.require(outbox).pushByTask(task, 'lines', lines),
  )
  await tasks.drain('mail', pipeline)
  const count = tasks.repository.count(tasks.database, { topic: 'lines' }).get('lines')?.get('ready')
  expect(count).toMatchObject({ count: 100_001 })
})

test('steps can push for tasks of their batch only, with identifiers that can be stored, and while steps run', async () => {
  await using tasks = await testTasks({ topics: ['mail', 'sent'] })
  await tasks.push('mail', 'a')
  const codes: unknown[] = []
  let pushes: Pushes | undefined
  const outbox = pushing({ repository: tasks.repository })
  const pipeline = composite({ contexts: [outbox] }).batch('push', async ([task], supplement) => {
    const own = (pushes = supplement.require(outbox))
    codes.push(await codeOf(() => own.pushByTask([task!, { ...task! }], 'sent')))
    codes.push(await codeOf(() => own.junctionByTask({ ...task! }, 'sent')))
    codes.push(await codeOf(() => own.pushByTask(task!, '')))
    codes.push(await codeOf(() => own.pushByTask(task!, 'sent', ['fine', ''])))
    codes.push(await codeOf(() => own.junctionByTask(task!, 'sent', [''])))
  })
  const { handled } = await tasks.drain('mail', pipeline)
  codes.push(await codeOf(() => pushes?.pushByTask(handled[0]!.task, 'sent')))
  expect(codes).toEqual([...Array.from({ length: 5 }, () => 'ARGUMENT_INVALID'), 'LIFECYCLE'])
  expect(handled.map(({ state }) => state)).toEqual(['succeeded'])
  expect(tasks.repository.page(tasks.database, 'sent')).toEqual([])
})

test('a step that asks of a context that its composite has not, fails', async () => {
  const outbox = pushing({ repository: {} as never })
  const [decision] = [
    ...(
      await decide(
        composite().each('push', (task, supplement) => supplement.require(outbox).pushByTask(task, 'x')),
        heldTasks('a'),
      )
    ).values(),
  ]
  expect(decision).toMatchObject({ result: 'failure' })
  expect(decision?.toMessage()).toContain('There is no supplement "pushing" for all tasks')
})

test('a postprocessor must be a function', () => {
  expect(() => pushing({ repository: {} as never, postprocess: 'tag' as never })).toThrow('postprocess must be a function: "tag"')
})
