/**
 * With a million rows in every state, each statement of each verb reads hardly any rows but those that it needs, with statistics and without. On
 * SQLite the tests check the indexes, on PostgreSQL also the number of rows read, and on MariaDB the server's own counts.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskInfo } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, openSubject, subjectName } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import { loadMillion } from './million.ts'
import { Recorder } from './recorder.ts'
import { held, verbs } from './verbs.ts'
import type { Most, Topic, Verb } from './verbs.ts'

/** Gathers statistics. InnoDB would do this by itself at some time, but here it does so only by this statement. */
const analyze = raw('analyze table task, task_topic, task_owner, task_lane, task_turn, task_attempt')

describe.skipIf(!canRun)('at a million rows', () => {
  let subject: Subject
  let tasks: Tasks
  const recorder = new Recorder()
  beforeAll(async () => {
    subject = await openSubject()
    const { engine } = subject
    tasks = subject.tasks({ adapt: (adapter) => recorder[engine as 'sqlite' | 'postgres' | 'mariadb'](adapter) })
    await loadMillion(subject, tasks)
  }, 240_000)
  afterAll(() => subject[Symbol.asyncDispose]())

  /** Explains every statement of a verb, and undoes what it did. */
  const explain = async (verb: Verb): Promise<typeof recorder.works> => {
    recorder.works.length = 0
    await subject
      .transactions(async (transaction) => {
        recorder.recording = true
        try {
          await verb(tasks, transaction)
        } finally {
          recorder.recording = false
        }
        throw new Error('undone')
      })
      .catch((error: unknown) => {
        if ((error as Error).message !== 'undone') throw error
      })
    return [...recorder.works]
  }
  const check = async (name: string, { postgres, mariadb }: Most, verb: Verb): Promise<void> => {
    const works = await explain(verb)
    expect(works.length).toBeGreaterThan(0)
    for (const { text, by, scans } of works) expect([name, scans, scans ? [by, text] : '']).toEqual([name, false, ''])
    const rows = works.reduce((sum, work) => sum + work.rows, 0)
    const most = subject.engine === 'mariadb' ? mariadb : postgres
    const heaviest = works.toSorted((left, right) => right.rows - left.rows)[0]
    if (rows > most)
      expect.fail(`${name} looked at ${rows} rows, ${heaviest?.rows} of them by ${heaviest?.by.join(', ')}:\n${heaviest?.text}`)
  }
  /** Verbs for tasks that are held already. The poll before them is not measured. */
  const heldVerbs: readonly (readonly [string, number, Topic, (batch: HeldTask[]) => Verb])[] = (
    ['plain', 'lifo', 'singular'] as const
  ).flatMap((topic) => [
    [
      `complete, ${topic}`,
      600,
      topic,
      (batch) => (own, transaction) =>
        own.complete(transaction, topic, new Map(batch.map((task, index) => [task, TaskDecision.success(String(index))]))),
    ] as const,
    [
      `complete, failed, ${topic}`,
      1_000,
      topic,
      (batch) => (own, transaction) =>
        own.complete(transaction, topic, new Map(batch.map((task, index) => [task, TaskDecision.failure(`${index}`)]))),
    ] as const,
    [`hold, ${topic}`, 600, topic, (batch) => (own, transaction) => own.hold(transaction, topic, batch)] as const,
    [`hand back, ${topic}`, 600, topic, (batch) => (own, transaction) => own.handBack(transaction, topic, batch)] as const,
  ])

  const keeps = subjectName === 'postgres-18' || subjectName === 'postgres-15'
  const circumstances = [false, true].flatMap((analysed) => (keeps ? [false, true] : [false]).map((kept) => ({ analysed, kept })))
  for (const { analysed, kept } of circumstances) {
    describe(`${analysed ? 'with statistics' : 'never analysed'}${kept ? ', by plans that are kept' : ''}`, () => {
      beforeAll(async () => {
        recorder.kept = kept
        if (!analysed) return
        if (subject.engine === 'mariadb') await subject.transactions((transaction) => subject.execute(transaction, analyze))
        else await subject.owner.transactions((transaction) => tasks.refresh(transaction))
        // Autovacuum would do so.
        if (subject.engine === 'postgres')
          await subject.transactions((transaction) => subject.execute(transaction, raw('analyze taskstream.task_attempt')))
      })

      // Without statistics, PostgreSQL 15 reads a topic's whole index instead of hundreds of keys, and any release collects and sorts all old
      // attempts of a topic (docs/decisions/plans.md).
      const more: Readonly<Record<string, number>> = {
        ...(subjectName === 'postgres-15' && !analysed && { 'push, replace': 60_000, 'push, delete': 60_000, held: 900_000 }),
        ...(!analysed && {
          'purgeAttempts, a portion': 210_000,
          'look, at everything': 150_000,
        }),
      }
      // Only frequent verbs are prepared, and so have plans that are kept.
      const asked = kept ? verbs.filter(([name]) => /^(push|poll|release)/.test(name)) : verbs
      test.each(asked)('%s', (name, most, verb) => check(name, { ...most, postgres: more[name] ?? most.postgres }, verb))

      test.each(heldVerbs)('%s', async (name, most, topic, verb) => {
        await subject
          .transactions(async (transaction) => {
            const batch = await held(tasks, transaction, topic)
            expect(batch).toHaveLength(100)
            recorder.works.length = 0
            recorder.recording = true
            try {
              await verb(batch)(tasks, transaction)
            } finally {
              recorder.recording = false
            }
            throw new Error('undone')
          })
          .catch((error: unknown) => {
            if ((error as Error).message !== 'undone') throw error
          })
        const works = [...recorder.works]
        expect(works.some(({ scans }) => scans)).toBe(false)
        const rows = works.reduce((sum, work) => sum + work.rows, 0)
        expect([name, rows <= most || rows]).toEqual([name, true])
      })
    })
  }

  test('there are a million', async () => {
    const table = raw(`select count(*) as count from ${subject.engine === 'postgres' ? 'taskstream.task' : 'task'}`)
    const [row] = await subject.transactions((transaction) => subject.execute(transaction, table))
    expect(Number(row?.['count'])).toBeGreaterThan(1_000_000)
    const info = await subject.transactions((transaction) => tasks.page(transaction, 'plain', { size: 1 }) as TaskInfo[])
    expect(info).toHaveLength(1)
  })
})
