/** For tests that must see which statements a poll of PostgreSQL runs, and must do something just before one of them. */
import type { HeldTask } from '@taskstream/task-api'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import type { Row, SqlAdapter, Statement } from '@taskstream/task-sql'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import { names } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { expect } from 'vitest'
import { subjectName } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'

/**
 * A fast-path claim, one that learns, or one that learns and merges listed tasks; a look into the lock table or at the sequence's settings,
 * or an update of the persisted low watermark.
 */
type Kind = 'fast' | 'learning' | 'merging' | 'locks' | 'cache' | 'persisting'
type Rows = readonly Row[]

interface Seen {
  readonly kind: Kind
  /** The low watermark that a claim has learned. */
  readonly low?: number
}

export interface WatchedClaims {
  /** The repository of another process, which has learned nothing yet. */
  readonly tasks: Tasks
  readonly seen: readonly Seen[]
  /** Polls. If the poll waits for a lock, it fails. */
  poll(size?: number): Promise<HeldTask[]>
  /** Polls. @returns the kinds of the statements, but for looks into the lock table, which are a matter of time */
  kinds(size?: number): Promise<Kind[]>
  /** Pushes, polls and completes a task. @returns its sequence */
  doOne(): Promise<number>
  /** The low watermark of the last claim that learned. */
  low(): number | undefined
  /**
   * Polls until the low watermark is this sequence: other tests of this server may have transactions open. The next poll may be a fast
   * one, and not before.
   */
  passes(sequence: number, poll?: () => Promise<unknown>): Promise<void>
  /** Does something just before the next statement of a kind, once. */
  before(kind: Kind, meanwhile: () => Promise<unknown>): void
  /** Changes the answer to the next statement of a kind, once. It may do something before. */
  answer(kind: Kind, change: (rows: Rows) => Rows | Promise<Rows>): void
}

export async function watchClaims(fixture: Fixture, clock?: () => Date): Promise<WatchedClaims> {
  const seen: Seen[] = []
  const before = new Map<Kind, () => Promise<unknown>>()
  const answers = new Map<Kind, (rows: Rows) => Rows | Promise<Rows>>()
  const watch = (adapter: SqlAdapter<AnyTransaction>): SqlAdapter<AnyTransaction> => ({
    ...adapter,
    execute: async (transaction, statement, plan) => {
      const kind = kindOf(statement)
      if (kind === undefined) return adapter.execute(transaction, statement, plan)
      await once(before, kind)?.()
      const rows = await adapter.execute(transaction, statement, plan)
      const status = rows.find((row) => typeof row['status'] === 'string')?.['status']
      seen.push(status === undefined ? { kind } : { kind, low: lowOf(String(status)) })
      return (await once(answers, kind)?.(rows)) ?? rows
    },
  })
  const dialect = postgres({ partitioned: subjectName === 'postgres-partitioned' })
  const tasks = sqlTaskRepository({ dialect, adapter: watch(fromPg), ...(clock && { clock }) }) as Tasks
  await fixture.commit((transaction) => tasks.register(transaction))
  const claims: WatchedClaims = {
    tasks,
    seen,
    poll: (size = 10) =>
      fixture.commit<HeldTask[]>(async (transaction) => {
        await fixture.subject.execute(transaction, raw("set local lock_timeout = '2s'"))
        return tasks.poll(transaction, fixture.topic, { size })
      }),
    kinds: async (size) => {
      const from = seen.length
      await claims.poll(size)
      const kinds = seen.slice(from).map(({ kind }) => kind)
      return kinds.filter((kind) => kind !== 'locks')
    },
    doOne: async () => {
      const [pushed] = await fixture.push('done')
      const held = await claims.poll()
      expect(names(held)).toEqual(['done'])
      await fixture.complete(held, undefined, tasks)
      return pushed!.sequence!
    },
    low: () => seen.findLast(({ low }) => low !== undefined)?.low,
    passes: async (sequence, poll = claims.poll) => {
      const low = async (): Promise<unknown> => {
        expect(await poll()).toEqual([])
        return claims.low()
      }
      await expect.poll(low, { interval: 1 }).toBe(sequence)
    },
    before: (kind, meanwhile) => void before.set(kind, meanwhile),
    answer: (kind, change) => void answers.set(kind, change),
  }
  return claims
}

/** Moves the sequence of tasks, as somebody might do by hand: the next one that is drawn is this one. */
export function draws(fixture: Fixture, next: number): Promise<unknown> {
  const statement = sql`select setval('taskstream.task_sequence', ${next - 1}::int8)`
  return fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
}

function once<Value>(values: Map<Kind, Value>, kind: Kind): Value | undefined {
  const value = values.get(kind)
  values.delete(kind)
  return value
}

/** The low watermark at which a claim began, or to which it has raised it. */
function lowOf(status: string): number {
  const { 5: floor, 9: advanced } = status.split(' ')
  return Math.max(Number(floor), advanced === '-' ? 0 : Number(advanced))
}

function kindOf({ texts }: Statement): Kind | undefined {
  const text = texts.join('')
  if (text.includes('pg_locks')) return 'locks'
  if (text.includes('pg_sequence_parameters')) return 'cache'
  if (/update \S*task_topic p\s+set floor/.test(text)) return 'persisting'
  if (!text.includes('start as materialized')) return undefined
  if (!text.includes(' as status')) return 'fast'
  return text.includes('select l.*') ? 'merging' : 'learning'
}
