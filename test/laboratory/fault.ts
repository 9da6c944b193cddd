import { setTimeout as delay } from 'node:timers/promises'
import type { Crew } from './crew.ts'

/** What faults are done to. */
export interface Scene {
  readonly crew: Crew
  readonly random: () => number
  /** Waits, between these milliseconds. */
  readonly pause: (fromMs: number, toMs: number) => Promise<void>
}

export interface Fault {
  readonly kind: string
  /** Whether everybody meets it. Two such faults do not come at the same time. */
  readonly isWide?: boolean
  /** What it takes back: commits that were answered, or numbers that were drawn. */
  readonly undoes?: 'commits' | 'numbers'
  /** How often it comes in a round; default 1. With less than 1, not in every round. */
  readonly weight?: number
  /** @returns how many processes, connections or rows it met; 0 if it did not come about */
  inflict(scene: Scene): Promise<number>
}

const mostTries = 100

/** Does what a fault must do to be over, though others may hinder it: they lock tables, and end sessions and servers. */
export async function insist<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt()
    } catch (error) {
      if (tries === mostTries) throw error
      await delay(100)
    }
  }
}
