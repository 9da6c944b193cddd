/** What an operator is told of nodes, and of what there is not. Incidents are in cli-incidents. */
import { TaskDecision } from '@taskstream/task-api'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { run, urlOf } from './command-line.ts'

describe.skipIf(!canRun)('an operator', () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(() => void (url = urlOf(fixture.subject)))

  const ask = async (
    ...args: readonly string[]
  ): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> => {
    const { code, out, err } = await run([...args, '--url', url])
    return { code, out, err }
  }
  const json = async <Value>(...args: readonly string[]): Promise<Value> =>
    JSON.parse((await ask(...args, '--json')).out) as Value
  const ownerOf = async (release: string): Promise<Tasks> => {
    const tasks = fixture.subject.tasks({ release, owner: `worker-${release}` })
    await fixture.commit((transaction) => tasks.register(transaction))
    await fixture.commit((transaction) =>
      tasks.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [{ topic: fixture.topic }] }),
    )
    return tasks
  }

  test('sees who fires timers, and means a node by the beginning of its name, not the scheduler beside it', async () => {
    const worker = await ownerOf('timed')
    const report = { kind: 'scheduler', host: 'h', pid: 1, leaseMs: 90_000, topics: [] } as const
    await fixture.commit((transaction) => worker.report(transaction, report))
    const [, line = ''] = /^(.*\/timers .*)$/m.exec((await ask('nodes')).out) ?? []
    expect(line).toMatch(/living .*\(timers\)/)
    expect(await json('nodes', 'worker-timed')).toMatchObject({ owner: worker.owner, report: { kind: 'node' } })
    expect(await json('nodes', `${worker.owner}/timers`)).toMatchObject({ report: { kind: 'scheduler' } })
    expect(await ask('node', 'quiet', `${worker.owner}/ti`)).toMatchObject({ code: 0 })
    expect(await json('nodes', `${worker.owner}/timers`)).toMatchObject({ quiet: true })
  })

  test('is told what there is not, and nothing that would disturb a terminal', async () => {
    await fixture.nextTopic()
    expect(await ask('why', fixture.topic, '@4711')).toMatchObject({ code: 3 })
    expect(await ask('why', 'nobody', '@4711')).toMatchObject({ code: 3 })
    expect(await ask('nodes', 'nobody')).toMatchObject({ code: 3 })
    expect(await ask('errors', fixture.topic, 'nobody')).toMatchObject({ code: 3 })
    expect(await ask('why', fixture.topic, '@1', '--expect', 'nonsense')).toMatchObject({ code: 2 })
    const worker = await ownerOf('7')
    const [task] = await fixture.push('\u001B[2Jwipe\u202E')
    await fixture.complete(await fixture.poll(1, worker), TaskDecision.failure('\u001B[31mred\nline'), worker)
    for (const args of [
      ['why', fixture.topic, `@${task!.sequence}`],
      ['errors', fixture.topic],
      ['changes'],
      ['next'],
      ['attention'],
      ['nodes'],
    ]) {
      const { out } = await ask(...args)
      // oxlint-disable-next-line no-control-regex -- these are what must not be there
      expect(out).not.toMatch(/[\u001B\u202E]/)
    }
  })
})
