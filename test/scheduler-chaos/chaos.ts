/** Schedulers are killed at random moments. In the end every occurrence of every timer was submitted exactly once. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { TaskInfo } from '@taskstream/task-api'
import { allPeriodicTasks, occurrenceOf, parseTimer, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTask, PeriodicTaskInfo } from '@taskstream/task-scheduler'
import { randomOf } from '../stress/topics.ts'
import type { Subject } from '../subject.ts'

export interface ChaosOptions {
  readonly seconds: number
  readonly timers: number
  readonly seed: number
  /** Ends every session of the server at once, and starts it again. */
  readonly crash?: () => Promise<void>
  readonly onProgress?: (line: string) => void
}

export interface ChaosReport {
  readonly timers: number
  readonly kills: number
  /** Schedulers that ended before they were killed. */
  readonly endedAlone: number
  readonly crashes: number
  /** How many occurrences the timers had, computed from their expressions. */
  readonly occurrences: number
  readonly submitted: number
  readonly lost: number
  readonly twice: number
  /** Tasks that were submitted for an instant that is no occurrence of their timer. */
  readonly unexpected: number
}

const processes = 3
const topic = 'ticks'
const pageSize = 10_000

/** Makes timers: every tenth one elapses each second, and the others every two to thirty seconds. */
function timersOf(count: number): PeriodicTask[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `timer-${index}`,
    timer: index % 10 === 0 ? '*:*:*' : `*:*:${index % 7}/${2 + (index % 29)}`,
    topic,
    misfire: 'catch-up',
  }))
}

/** Runs schedulers and kills them at random, lets them catch up, and compares the submitted tasks with the occurrences of the timers. */
export async function chaos(subject: Subject, { seconds, timers, seed, crash, onProgress }: ChaosOptions): Promise<ChaosReport> {
  const tasks = subject.tasks()
  const periodic = periodicTasks(tasks)
  const begun = Date.now()
  await subject.transactions(async (transaction) => {
    await tasks.initialize(transaction, topic)
    for (const timer of timersOf(timers)) await periodic.schedule(transaction, timer)
  })
  const random = randomOf(seed)
  const workers = Array.from({ length: processes }, () => startWorker(subject))
  let [kills, endedAlone] = [0, 0]
  let crashes = 0
  const end = begun + seconds * 1_000
  const crashAt = [0.35, 0.7].map((share) => begun + share * seconds * 1_000)
  while (Date.now() < end) {
    await delay(200 + random() * 1_500)
    const victim = Math.floor(random() * processes)
    // A process that is killed before its scheduler runs would prove nothing.
    await workers[victim]!.started
    if (await kill(workers[victim]!)) kills++
    else endedAlone++
    workers[victim] = startWorker(subject)
    if (crash && crashAt[crashes] !== undefined && Date.now() > crashAt[crashes]!) {
      await crash()
      crashes++
    }
    onProgress?.(`${Math.round((Date.now() - begun) / 1_000)} s: ${kills} kills, ${crashes} crashes of the server`)
  }

  // From here on nobody is killed, so the schedulers catch up until no timer is late.
  const all = allPeriodicTasks(tasks)
  let infos: PeriodicTaskInfo[] = []
  for (let late = Infinity; late > 0;) {
    await delay(100)
    infos = await subject.transactions<PeriodicTaskInfo[]>((transaction) => all(transaction)).catch(() => [])
    late = infos.length === 0 ? Infinity : infos.filter(({ due }) => due!.getTime() <= end).length
  }
  endedAlone += (await Promise.all(workers.map(kill))).filter((killed) => !killed).length
  infos = await subject.transactions<PeriodicTaskInfo[]>((transaction) => all(transaction))
  const submitted = await submissions(subject)
  const audits = infos.map((info) => audit(info, submitted.get(info.id) ?? []))
  const sum = (pick: (one: (typeof audits)[number]) => number): number => audits.reduce((total, one) => total + pick(one), 0)
  return {
    timers,
    kills,
    endedAlone,
    crashes,
    occurrences: sum(({ expected }) => expected),
    submitted: sum(({ found }) => found),
    lost: sum(({ lost }) => lost),
    twice: sum(({ twice }) => twice),
    unexpected: sum(({ unexpected }) => unexpected),
  }
}

interface Audit {
  readonly expected: number
  readonly found: number
  readonly lost: number
  readonly twice: number
  readonly unexpected: number
}

/** Compares the submitted occurrences of a timer with all its occurrences between its creation and its next one. */
function audit({ timer: text, created, next }: PeriodicTaskInfo, found: readonly number[]): Audit {
  const timer = parseTimer(text)
  const expected = new Set<number>()
  for (let at = timer.next(created.getTime()); at !== undefined && at < next!.getTime(); at = timer.next(at)) expected.add(at)
  const distinct = new Set(found)
  return {
    expected: expected.size,
    found: found.length,
    lost: [...expected].filter((at) => !distinct.has(at)).length,
    twice: found.length - distinct.size,
    unexpected: [...distinct].filter((at) => !expected.has(at)).length,
  }
}

/** Reads the submitted occurrences, by the ids of their timers. */
async function submissions(subject: Subject): Promise<ReadonlyMap<string, readonly number[]>> {
  const tasks = subject.tasks()
  const found: TaskInfo[] = []
  for (let page: TaskInfo[] = [], after = 0; ; after = page.at(-1)!.sequence) {
    page = await subject.transactions<TaskInfo[]>((transaction) => tasks.page(transaction, topic, { after, size: pageSize }))
    if (page.length === 0) break
    found.push(...page)
  }
  const byTimer = Map.groupBy(found, (task) => occurrenceOf(task)?.id ?? '')
  return new Map([...byTimer].map(([id, each]) => [id, each.map((task) => occurrenceOf(task)?.at.getTime() ?? 0)]))
}

interface Scheduler {
  readonly process: ChildProcess
  /** Settles when the scheduler runs or its process has ended. */
  readonly started: Promise<unknown>
}

function startWorker(subject: Subject): Scheduler {
  const worker = fork(new URL('worker.ts', import.meta.url), [JSON.stringify(subject.location)], {
    execArgv: ['--conditions=@taskstream/source'],
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
  })
  return { process: worker, started: Promise.race([once(worker, 'message'), once(worker, 'exit')]) }
}

/** Kills a scheduler. @returns false if its process had ended before */
async function kill({ process: worker }: Scheduler): Promise<boolean> {
  if (worker.exitCode !== null || worker.signalCode !== null) return false
  const exited = once(worker, 'exit')
  worker.kill('SIGKILL')
  const [, signal] = await exited
  return signal === 'SIGKILL'
}
