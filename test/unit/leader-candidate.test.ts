/** How a node enters its group: it makes the tables if it may, takes over in vain, and stands by where another one has its name. */
import { TaskError } from '@taskstream/task-api'
import type { CoordinationRepository } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { memoryGroup } from '../coordination/memory-group.ts'
import type { MemoryGroup, MemoryNode, MemoryTransaction } from '../coordination/memory-group.ts'

type Coordination = CoordinationRepository<MemoryTransaction, 'sync'>

/** A node on a database that answers some things in its own way. */
function nodeOn(group: MemoryGroup, changed: Partial<Coordination>, options: object = {}): MemoryNode {
  const { repository } = group.node('as-it-is').options
  const coordination: Coordination = { ...repository.coordination, ...changed }
  return group.node('a', { repository: { ...repository, coordination }, ...options })
}

describe('the tables of a group', () => {
  const present = { found: true, isKeyed: true, idLength: 255, resolutionMs: 0 }
  const missing = { ...present, found: false }
  /** Starts a node where the tables are there or not, and can be made or not. */
  const start = async (
    isThere: boolean,
    make: 'made' | 'refused' | 'made by another',
    options: object = {},
  ): Promise<unknown[]> => {
    let found = isThere
    let calls = 0
    const node = nodeOn(
      memoryGroup(),
      {
        tables: () => (found ? present : missing),
        createTables: () => {
          calls++
          found = make !== 'refused'
          if (make !== 'made') throw new TaskError('PERMISSION_DENIED', 'no')
        },
      },
      options,
    )
    const ended = await node.leader.start().then(
      () => 'leads',
      (error: unknown) => (error as TaskError).code,
    )
    return [ended, calls]
  }

  test('are made if they are missing, and left alone if they are there', async () => {
    expect(await start(true, 'made')).toEqual(['leads', 0])
    expect(await start(false, 'made')).toEqual(['leads', 1])
    expect(await start(false, 'made', { createTables: false })).toEqual(['SCHEMA_MISSING', 0])
  })

  test('may be made by another node at the same time, and if nobody has, the refusal is told', async () => {
    expect(await start(false, 'made by another')).toEqual(['leads', 1])
    expect(await start(false, 'refused')).toEqual(['PERMISSION_DENIED', 1])
  })
})

describe('a node that takes over', () => {
  test.each(['busy', 'changed'] as const)(
    'does not lead if it is %s, tries again soon, and says when it is in vain',
    async (outcome) => {
      const group = memoryGroup()
      const errors: TaskError[] = []
      const { takeOver } = group.node('as-it-is').options.repository.coordination
      let free = false
      let tries = 0
      const node = nodeOn(
        group,
        {
          takeOver: (...given) => {
            tries++
            return free ? takeOver(...given) : outcome
          },
        },
        { listener: { onError: (error: TaskError) => errors.push(error) } },
      )
      await node.leader.start()
      expect(node.leader.term).toBeUndefined()
      await group.pass(500)
      // Each 50 ms, which is twice as often as heartbeats are sent.
      expect(tries).toBe(11)
      expect(errors).toEqual([])
      await group.pass(500)
      expect(errors).toEqual([
        expect.objectContaining({ code: 'DATABASE_BUSY', data: { shortOf: 'lock', groupId: 'group', taskId: 'a' } }),
      ])
      expect(errors[0]!.message).toContain(outcome === 'busy' ? 'keeps its row in token_holder locked' : 'changes each time')
      free = true
      await group.pass(200)
      expect(node.leader.term).toBe(1)
    },
  )

  test('steps down at its next look if its row names another one', async () => {
    const group = memoryGroup()
    const a = group.node('a')
    await a.leader.start()
    const { signal } = a.leader
    group.rows = { ...group.rows, token: { taskId: 'b', term: 7 }, beats: { ...group.rows.beats, b: 99 } }
    await group.pass(150)
    expect(a.leader.term).toBeUndefined()
    expect((signal!.reason as TaskError).message).toContain('node "b" leads in term 7')
  })
})

describe('a node whose name another process has', () => {
  test('stands by, says so once, and leaves the heartbeats of the other one', async () => {
    const group = memoryGroup()
    const codes: string[] = []
    const other = group.node('a', { listener: { onError: (error) => codes.push((error as TaskError).code) } })
    await other.leader.start()
    const twin = group.node('a')
    await twin.leader.start()
    // The second one follows its former self, as it believes. The first one finds that out.
    await group.pass(500)
    expect([other.leader.term, twin.leader.term]).toEqual([undefined, 2])
    const beats = group.rows.beats
    const stopping = other.leader.stop()
    await group.pass(300)
    await stopping
    expect(Object.keys(group.rows.beats)).toEqual(Object.keys(beats))
    expect(twin.leader.term).toBe(2)
    expect(codes).toEqual(['TASK_ID_TAKEN'])
  })

  test('that has not entered its group leaves nothing', async () => {
    const group = memoryGroup()
    group.rows = { ...group.rows, beats: { a: 7 } }
    const a = group.node('a')
    await a.leader.stop()
    expect(group.rows.beats).toEqual({ a: 7 })
  })
})
