/** A process that drains a backlog with one subject, and loads no other. */
import type { DrainOrder, OpenDrain } from './drain-order.ts'
import type { Report } from './race.ts'

const systems: Readonly<Record<DrainOrder['subject'], () => Promise<{ readonly open: OpenDrain }>>> = {
  taskstream: () => import('./drain-taskstream.ts'),
  'pg-boss': () => import('./drain-boss.ts'),
  'graphile-worker': () => import('./drain-graphile.ts'),
  BullMQ: () => import('./drain-bullmq.ts'),
}

/** How often the process tells what it has done. */
const reportMs = 20
/** Progress is noted no more often than this, which is exact enough for a comparison. */
const stepMs = 5

let tasks = 0
let ended = 0
let reported = -1
let bytes = 0
let started = process.cpuUsage()
const progress: [number, number][] = []

function done(count: number): void {
  tasks += count
  ended = performance.timeOrigin + performance.now()
  const [last] = progress.at(-1) ?? [0]
  if (ended - last >= stepMs) progress.push([ended, tasks])
}

function report(): void {
  bytes = Math.max(bytes, process.memoryUsage.rss())
  if (tasks === reported) return
  reported = tasks
  const { user, system } = process.cpuUsage(started)
  process.send?.({ tasks, ended, cpuUs: user + system } satisfies Partial<Report>)
}

process.once('message', async (order: DrainOrder) => {
  const { open } = await systems[order.subject]()
  const drain = await open(order, done)
  process.once('message', async () => {
    started = process.cpuUsage()
    const timer = setInterval(report, reportMs)
    process.once('message', async () => {
      clearInterval(timer)
      report()
      process.send?.({ bytes, progress } satisfies Partial<Report>)
      await drain.stop()
      process.exit()
    })
    await drain.start()
  })
  process.send?.('ready')
})
// The benchmark has gone, so nothing needs to be kept.
process.once('disconnect', () => process.exit())
