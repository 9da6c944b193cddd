/** Moves the tasks of a topic, portion by portion: each is pushed and committed here, and is then taken away there. */
import { cutText, taskLimits } from '@taskstream/task-api'
import type { LockedTasks, PushedTask, TaskCreation, TaskInfo } from '@taskstream/task-api'
import type { NamedDatabase } from '../core/database.ts'
import { checkApart, checkNobody, isSameWork, waiting } from './leaving.ts'
import type { Goal } from './leaving.ts'
import { formerSequence, movedName, movesFrom, nameMoves } from './moved-names.ts'
import type { Push } from './origin.ts'

/** Payloads may be large, so fewer are read at a time than are moved, and so many characters of them are moved at a time, or one task. */
const pageSize = 50
const mostCharacters = 16_777_216

export const goalNote = ({ database }: Goal): string => cutText(`to ${database.place}`, taskLimits.noteLength)

export class MovingTopic {
  readonly #queue: string
  readonly #source: NamedDatabase
  readonly #goal: Goal
  readonly #push: Push
  readonly #isOrdered: boolean
  /** The first sequence that is looked for. What others had locked is looked for again in the end. */
  #from = 0
  /** Tasks whose external ids belong to other tasks here. They stay. */
  readonly #foreign: Set<number> = new Set()
  /** The name of the moves from this topic. */
  #name = ''
  /** The moves from the topic here. */
  #ownMoves: ReadonlySet<string> = new Set()

  /** @param isOrdered whether a task may not pass one that others have locked */
  constructor(queue: string, source: NamedDatabase, goal: Goal, push: Push, isOrdered: boolean) {
    this.#queue = queue
    this.#source = source
    this.#goal = goal
    this.#push = push
    this.#isOrdered = isOrdered
  }

  /** How many tasks stayed, as other tasks have their external ids here. */
  get foreign(): number {
    return this.#foreign.size
  }

  /** Called once before the first move. */
  async begin(): Promise<void> {
    const { database, topic } = this.#goal
    this.#ownMoves = new Set(await movesFrom(database, topic))
    this.#name = await nameMoves(this.#source, this.#queue, goalNote(this.#goal))
  }

  move(size: number): Promise<readonly PushedTask[]> {
    const before = this.#from
    return this.#source.transactions(async (transaction) => {
      // A transaction that is repeated begins anew.
      this.#from = before
      await checkNobody(transaction, this.#source)
      for (;;) {
        const infos = await this.#lock(transaction, size)
        const moved = await this.#moved(transaction, infos)
        if (infos.length === 0 || moved.length > 0) return moved
      }
    })
  }

  async #moved(transaction: unknown, infos: readonly TaskInfo[]): Promise<readonly PushedTask[]> {
    await checkApart(infos, this.#source, this.#goal)
    const here = await this.#stillHere(infos)
    const pushed = new Map([...here, ...(await this.#pushed(infos.filter(({ sequence }) => !here.has(sequence))))])
    const sequences = [...pushed.keys()]
    if (sequences.length === 0) return []
    // They are gone: one that was only cancelled could be revived, or keep its external id from being pushed there again.
    const options = { sequences, states: waiting, limit: sequences.length }
    const gone = (await this.#source.tasks.purge(transaction, this.#queue, options)) as number
    const left = sequences.length - gone
    if (left > 0) throw new Error(`${left} tasks of "${this.#queue}" could not be taken away in ${this.#source.place}`)
    return [...pushed.values()]
  }

  /** Tasks on their way back that are here, as the move that took them from here ended before it did. */
  async #stillHere(infos: readonly TaskInfo[]): Promise<ReadonlyMap<number, PushedTask>> {
    const found = new Map<number, PushedTask>()
    for (const info of infos) {
      const former = formerSequence(info, this.#ownMoves)
      const here = former === undefined ? undefined : await this.#find(former)
      if (here && isSameWork(here, info)) found.set(info.sequence, { ...here, outcome: 'duplicate' })
    }
    return found
  }

  /** Pushes tasks. One that finds another task under its external id stays where it is. */
  async #pushed(infos: readonly TaskInfo[]): Promise<ReadonlyMap<number, PushedTask>> {
    const pushed = infos.length === 0 ? [] : await this.#push(infos.map((info) => toCreation(info, this.#name)))
    const found = new Map<number, PushedTask>()
    for (const [index, info] of infos.entries()) {
      const task = pushed[index]!
      const other = task.outcome === 'duplicate' ? await this.#find(task.sequence) : undefined
      if (other && !isSameWork(other, info)) this.#foreign.add(info.sequence)
      else found.set(info.sequence, task)
    }
    return found
  }

  #find(sequence: number): Promise<TaskInfo | undefined> {
    const { database, topic } = this.#goal
    return database.reading<TaskInfo | undefined>((transaction) => database.tasks.task(transaction, topic, sequence))
  }

  /** Locks the tasks that come next, and reads them. */
  async #lock(transaction: unknown, limit: number): Promise<readonly TaskInfo[]> {
    for (let isAgain = false; ;) {
      const { tasks: locked, last }: LockedTasks = await this.#source.tasks.lock(transaction, this.#queue, {
        states: waiting,
        from: this.#from,
        limit,
        unneeded: true,
        skipLocked: !this.#isOrdered,
      })
      if (last === undefined && (isAgain || this.#from === 0)) return []
      isAgain ||= last === undefined
      this.#from = last === undefined ? 0 : last + 1
      const wanted = locked.map(({ sequence }) => sequence).filter((sequence) => !this.#foreign.has(sequence))
      if (wanted.length > 0) return await this.#read(transaction, wanted)
    }
  }

  async #read(transaction: unknown, wanted: readonly number[]): Promise<readonly TaskInfo[]> {
    const left = new Set(wanted)
    const found: TaskInfo[] = []
    let characters = 0
    for (let after = wanted[0]! - 1; left.size > 0;) {
      const page: readonly TaskInfo[] = await this.#source.tasks.page(transaction, this.#queue, {
        states: waiting,
        after,
        size: pageSize,
      })
      for (const info of page) {
        after = info.sequence
        if (!left.delete(info.sequence)) continue
        characters += info.input?.length ?? 0
        if (found.length > 0 && characters > mostCharacters) {
          this.#from = info.sequence
          return found
        }
        found.push(info)
      }
    }
    return found
  }
}

/** A task as it is pushed here. One without an external id gets one by which it is known again. */
function toCreation(task: TaskInfo, move: string): TaskCreation {
  const { identifier, input, reference, priority, headers, due, deadline, sequence } = task
  const { externalId = movedName(move, sequence) } = task
  const maxTries = triesOf(task)
  return {
    identifier,
    externalId,
    priority,
    ...(input !== undefined && { input }),
    ...(reference !== undefined && { reference }),
    ...(headers !== undefined && { headers }),
    ...(due !== undefined && { due }),
    ...(deadline !== undefined && { deadline }),
    ...(maxTries !== undefined && { maxTries }),
  }
}

/** The tries that are left. A signature covers the number with which a job was pushed. */
function triesOf({ maxTries, tries, headers }: TaskInfo): number | undefined {
  return maxTries === undefined || headers?.['sig'] !== undefined ? maxTries : Math.max(1, maxTries - tries)
}
