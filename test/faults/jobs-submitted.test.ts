/** Processes submit the same jobs at the same time, and again when they do not know the outcome, while another handles them. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { TaskInfo } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject, subjectName, textColumn } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import { amountOf } from '../tiers.ts'
import { endOf, order } from './submitted.ts'
import type { Said, SubmitterOrders, SubmitterReport } from './submitted.ts'

const submits = Number(process.env['TASKSTREAM_SUBMITS'] ?? amountOf('submits'))
const processes = 4
/** Each is submitted by two processes. */
const numbers = Array.from({ length: (submits * processes) / 2 }, (_, index) => index)
const waveSize = 20

describe.skipIf(!canRun)(`jobs that ${processes} processes submit (${submits} each)`, () => {
  test(
    'are created once each, whoever submits them again, and end as their tries say, with one effect for each success',
    { timeout: 600_000 },
    async () => {
      await using subject = await openSubject()
      const tasks = subject.tasks()
      await subject.transactions(async (transaction) => {
        await tasks.initialize(transaction, order.name)
        await subject.execute(transaction, sql`create table effect (id ${textColumn}, tries integer)`)
      })
      const { location } = subject
      await using children = new AsyncDisposableStack()
      const start = (program: string, orders: object): ChildProcess =>
        children.adopt(
          fork(new URL(program, import.meta.url), [JSON.stringify(orders)], { execArgv: ['--conditions=@taskstream/source'] }),
          (child) => void child.kill('SIGKILL'),
        )
      const worker = start('retrying-worker.ts', { location })
      const submitters = Array.from({ length: processes }, (_, index) => {
        const orders: SubmitterOrders = { location, waves: wavesOf(index) }
        return start('submitter.ts', orders)
      })
      await Promise.all([worker, ...submitters].map((child) => nextMessage(child)))
      let handlersUnanswered = 0
      worker.on('message', () => void handlersUnanswered++)

      const beganMs = performance.now()
      const reports = await Promise.all(
        submitters.map(async (submitter) => {
          const report = nextMessage(submitter)
          submitter.send('go')
          return (await report) as SubmitterReport
        }),
      )
      const submittedMs = performance.now() - beganMs
      await expect.poll(() => openJobs(subject, tasks), { interval: 20, timeout: 300_000 }).toBe(0)
      const handledMs = performance.now() - beganMs

      const committed = reports.flatMap((report) => report.committed)
      const answers = reports.flatMap((report) => report.answers)
      const found = await subject.transactions<TaskInfo[]>((transaction) =>
        tasks.page(transaction, order.name, { size: 100_000 }),
      )
      const model = numbers.map((number) => endOf(number))
      expect(byId(found.map(({ externalId, state, tries }) => ({ id: externalId!, state, tries })))).toEqual(byId(model))
      const effects = await subject.transactions((transaction) => subject.execute(transaction, sql`select id, tries from effect`))
      expect(byId(effects.map(({ id, tries }) => ({ id: String(id), tries: Number(tries) })))).toEqual(
        byId(model.filter(({ state }) => state === 'succeeded').map(({ id, tries }) => ({ id, tries }))),
      )
      // Of all pushes that were committed, one created the job. The others were given the same job.
      const created = committed.filter(({ outcome }) => outcome === 'created')
      const ids = model.map(({ id }) => id)
      expect(byId(created).map(({ id }) => id)).toEqual(ids.toSorted())
      const sequences = new Map(found.map(({ externalId, sequence }) => [externalId!, sequence]))
      const isOther = ({ id, sequence, outcome }: Said): boolean =>
        sequences.get(id) !== sequence || !['created', 'duplicate'].includes(outcome)
      expect([...committed, ...answers].filter(isOther)).toEqual([])
      // Each process has got one answer for each of its jobs, and no two processes were told that they had created one.
      expect(byId(answers).map(({ id }) => id)).toEqual([...ids, ...ids].toSorted())
      const told = answers.filter(({ outcome }) => outcome === 'created').map(({ id }) => id)
      expect(new Set(told).size).toBe(told.length)
      const [unanswered, unwritten] = [sum(reports, 'unanswered'), sum(reports, 'unwritten')]
      expect(Math.min(unanswered, unwritten, handlersUnanswered)).toBeGreaterThan(0)
      expect(created.length - told.length, 'jobs whose creator was not told').toBeGreaterThan(0)
      console.log(
        `${subjectName}: ${answers.length} submits of ${numbers.length} jobs in ${seconds(submittedMs)} s, ${committed.length} pushed, ${unanswered} commits unanswered, ${unwritten} unwritten, ${sum(reports, 'conflicts')} conflicts; all handled after ${seconds(handledMs)} s, where ${handlersUnanswered} commits were unanswered`,
      )
    },
  )
})

/** The jobs that a process submits, so that others submit them at about the same time. Every other process turns their order round. */
function wavesOf(index: number): number[][] {
  const own = numbers.filter((number) => {
    const first = number % processes
    const second = (first + 1 + (Math.floor(number / processes) % (processes - 1))) % processes
    return index === first || index === second
  })
  const waves = Array.from({ length: Math.ceil(own.length / waveSize) }, (_, wave) =>
    own.slice(wave * waveSize, (wave + 1) * waveSize),
  )
  return index % 2 === 0 ? waves : waves.map((wave) => wave.toReversed())
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onClose = (code: number | null, signal: string | null): void =>
      reject(new Error(`A process ended with ${code ?? signal}`))
    child.once('close', onClose)
    child.once('message', (message: unknown) => {
      child.off('close', onClose)
      resolve(message)
    })
  })
}

/** The jobs that somebody handles or will handle. */
async function openJobs(subject: Subject, tasks: Tasks): Promise<number> {
  const topics = await subject.transactions((transaction) => tasks.overview(transaction))
  return topics.reduce((all, { ready, active, delayed }) => all + ready + active + delayed, 0)
}

function byId<Each extends { readonly id: string }>(list: readonly Each[]): Each[] {
  return list.toSorted((left, right) => (left.id < right.id ? -1 : Number(left.id > right.id)))
}

function sum(reports: readonly SubmitterReport[], what: 'unanswered' | 'unwritten' | 'conflicts'): number {
  return reports.reduce((all, report) => all + report[what], 0)
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}
