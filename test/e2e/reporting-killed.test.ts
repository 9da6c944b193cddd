/** Whoever looks at processes sees which of them live, which are silent, and which are dead, whatever has ended them. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { NodeInfo } from '@taskstream/task-api'
import { describe, expect, onTestFinished, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const leaseMs = 20_000

describe.skipIf(!canRun)('a process', () => {
  const fixture = useNodeFixture('reporting-killed')

  /** Starts a process, and waits until it holds a task. @returns its owner */
  const begin = async (name: string): Promise<{ readonly owner: string; readonly process: ChildProcess }> => {
    const orders = [JSON.stringify(fixture.subject.location), fixture.topic, name]
    const child = fork(new URL('told-of.ts', import.meta.url), orders, {
      execArgv: ['--conditions=@taskstream/source'],
      env: { ...process.env, TASKSTREAM_RELEASE: '2026.7' },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [owner] = (await once(child, 'message')) as [string]
    return { owner, process: child }
  }
  /** The processes as they are at an instant, or now. */
  const lookAt = async (at?: Date): Promise<ReadonlyMap<string, NodeInfo>> => {
    const tasks = fixture.subject.tasks(at && { clock: () => at })
    const all = await fixture.commit<readonly NodeInfo[]>((transaction) => tasks.nodes(transaction))
    return new Map(all.map((node) => [node.owner, node]))
  }

  test('that is killed is silent at first and dead after its lease, and lives on under its name in its next incarnation', async () => {
    await fixture.push('a', 'b')
    const first = await begin('worker')
    await expect
      .poll(async () => (await lookAt()).get(first.owner))
      .toMatchObject({
        name: 'worker',
        life: 'living',
        release: '2026.7',
        report: {
          kind: 'node',
          pid: first.process.pid,
          leaseMs,
          topics: [{ topic: fixture.topic, mode: 'leased', size: 3, concurrency: 1 }],
        },
      })
    first.process.kill('SIGKILL')
    await once(first.process, 'exit')
    const { heartbeat } = (await lookAt()).get(first.owner)!
    const after = (ms: number): Promise<string | undefined> =>
      lookAt(new Date(heartbeat!.getTime() + ms)).then((all) => all.get(first.owner)?.life)
    expect([await after(leaseMs / 2), await after(leaseMs / 2 + 1), await after(leaseMs)]).toEqual(['living', 'silent', 'silent'])
    expect(await after(leaseMs + 1)).toBe('dead')

    // The task that the dead process holds is not the only one.
    await fixture.push('c')
    const second = await begin('worker')
    await expect.poll(async () => (await lookAt()).get(second.owner)).toMatchObject({ report: { pid: second.process.pid } })
    const both = await lookAt(new Date((await lookAt()).get(second.owner)!.heartbeat!.getTime()))
    expect([...both.values()].map(({ name }) => name)).toEqual(['worker', 'worker'])
    expect(both.get(second.owner)).toMatchObject({ life: 'living', report: { pid: second.process.pid } })
    expect(both.get(first.owner)).toMatchObject({ report: { pid: first.process.pid, topics: [{ topic: fixture.topic }] } })
  })
})
