/** Processes that handle jobs are killed with kill -9 between the statements of their commits, and others go on. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Execution, FilterState, TaskCount, TopicOverview } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { Stream } from 'taskstream'
import type { AnyJob } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject, subjectName, textColumn } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'
import { amountOf } from '../tiers.ts'
import { bury, Crew, drawDeaths } from './crew.ts'
import { invoice, jobMoments, mail, steps } from './invoices.ts'
import type { InvoiceOrders } from './invoices.ts'

const jobs = Number(process.env['TASKSTREAM_JOBS'] ?? amountOf('jobs'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const kills = Math.max(steps.length, Math.floor(jobs / 100))
/** So many invoices are pushed at a time, and there are new ones before these are done. */
const portion = 100

describe.skipIf(!canRun)(`processes killed in their commits (${jobs} jobs, ${kills} times, seed ${seed})`, () => {
  test(
    'leave no invoice without its effect and its one mail, and none with two, and nothing stays active',
    { timeout: 1_200_000 },
    async () => {
      await using subject = await openSubject()
      const tasks = subject.tasks()
      await using stream = new Stream<AnyTransaction, Execution>(
        { repository: tasks, transactions: subject.transactions },
        { migrate: false },
      )
      await stream.prepare(invoice)
      await stream.transaction((transaction) =>
        subject.execute(transaction, sql`create table effect (job ${textColumn}, id ${textColumn}, attempt integer)`),
      )
      const deaths = drawDeaths(jobMoments, kills, seed)
      const pushed: string[] = []
      let extra = 0
      const beganMs = performance.now()
      using crew = new Crew({
        program: new URL('invoice-worker.ts', import.meta.url),
        size: 3,
        deaths,
        orders: (death): InvoiceOrders => ({ location: subject.location, ...(death ? { death } : {}) }),
      })
      // A moment that does not come about is to be named, not waited for.
      while (crew.failures.length === 0 && pushed.length < 10 * (jobs + 1_000)) {
        await bury(subject, tasks, crew.takeDead())
        const open = await openJobs(stream)
        if (open === 0 && crew.kills === kills && pushed.length >= jobs) break
        // The jobs last as long as there are processes to be killed.
        const isTime = pushed.length < (jobs * (crew.kills + 1)) / kills && pushed.length < jobs
        if (open === 0 || (open < portion && isTime)) {
          // While only deaths are waited for, most portions are so small that each job is completed alone.
          const length = isTime || extra++ % 4 === 0 ? portion : 1
          const ids = Array.from({ length }, (_, index) => `invoice ${pushed.length + index}`)
          await stream.transaction((transaction) =>
            stream.pushMany(
              transaction,
              invoice,
              ids.map((id) => [id] as const),
            ),
          )
          pushed.push(...ids)
        }
        await delay(10)
      }
      expect(crew.failures).toEqual([])
      expect(await countStates(stream, invoice)).toEqual({ succeeded: pushed.length })
      expect(await countStates(stream, mail)).toEqual({ succeeded: pushed.length })
      const effects = await effectsOf(subject)
      expect(effects.get('invoice')).toEqual(pushed.toSorted())
      expect(effects.get('mail')).toEqual(pushed.toSorted())
      // Whoever was killed before its commit has had its jobs taken up by another.
      const again = await takenUpAgain(subject)
      const unsent = [...crew.killed].filter(([moment]) => !moment.endsWith('the commit is sent'))
      expect(again).toBeGreaterThanOrEqual(unsent.reduce((sum, [, count]) => sum + count, 0))
      expect(counted(crew.killed)).toEqual(counted(deaths.map(({ moment }) => [moment, 1])))
      expect(new Set([...crew.killed.keys()].map((moment) => moment.split(', ')[1]))).toEqual(new Set(steps))
      const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1)
      console.log(
        `${subjectName}: ${crew.kills} kills, ${pushed.length} invoices and as many mails, ${again} taken up again, ${seconds} s, seed ${seed}; ${jobMoments.map((moment) => `${moment}: ${crew.killed.get(moment) ?? 0}`).join('; ')}`,
      )
    },
  )
})

function counted(moments: Iterable<readonly [string, number]>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const [moment, count] of moments) counts[moment] = (counts[moment] ?? 0) + count
  return counts
}

/** The jobs that somebody handles or will handle. */
async function openJobs(stream: Stream<AnyTransaction, Execution>): Promise<number> {
  const topics = await stream.transaction<TopicOverview[]>((transaction) => stream.tasks.overview(transaction))
  return topics.reduce((sum, { ready, active, delayed }) => sum + ready + active + delayed, 0)
}

async function countStates(stream: Stream<AnyTransaction, Execution>, { name }: AnyJob): Promise<Record<string, number>> {
  const counts = await stream.transaction<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    stream.tasks.count(transaction, { topic: name }),
  )
  return Object.fromEntries([...(counts.get(name) ?? [])].map(([state, { count }]) => [state, count]))
}

/** The ids of the effects of each job, sorted. */
async function effectsOf(subject: Subject): Promise<Map<string, string[]>> {
  const rows = await subject.transactions((transaction) => subject.execute(transaction, sql`select job, id from effect`))
  const byJob = Map.groupBy(rows, ({ job }) => String(job))
  return new Map([...byJob].map(([job, each]) => [job, each.map(({ id }) => String(id)).toSorted()]))
}

async function takenUpAgain(subject: Subject): Promise<number> {
  const [row] = await subject.transactions((transaction) =>
    subject.execute(transaction, sql`select sum(attempt - 1) as again from effect`),
  )
  return Number(row?.['again'])
}
