/** What an incident is: a state into which a database is brought, and the one command that finds it. */
import type { KeyboardStory } from './keyboard.ts'
import type { Site } from './site.ts'

export const engineKinds = ['sqlite', 'postgres', 'mariadb'] as const
export type EngineKind = (typeof engineKinds)[number]

/** A question that a command answers. */
export interface Asked {
  /** What is typed after `taskstream`. */
  readonly command: readonly string[]
  /** What its output must have. */
  readonly shows: RegExp
  /** How it ends. Default 0. */
  readonly code?: number
}

/** A page of the console that answers it, and the route of the HTTP API beside it. */
export interface Shown {
  /** The page below the console's path. */
  readonly page: string
  /** What the text of the page must have. */
  readonly shows: RegExp
  /** The route below `api/v1`. */
  readonly route: string
  /** What its answer must have. */
  readonly answers: RegExp
  readonly byKeyboard: KeyboardStory
}

/** An incident that has happened. */
export interface Staged {
  /** What an operator is told at three in the morning. */
  readonly question: string
  /** The database as the operator opens it. Default: as the nodes do. */
  readonly url?: string
  /** Further variables of the operator's terminal. */
  readonly env?: Readonly<Record<string, string>>
  /** Waits until it is bad enough that somebody complains. */
  readonly ready?: () => Promise<void>
  /** The one command. */
  readonly finds: Asked
  /** The one page, and the one route. */
  readonly shown: Shown
  /** What the operator takes out of the output: the first group, of every match. */
  readonly remedy: RegExp
  /** Does what the output says. @returns what was done, a line each */
  readonly carryOut: (remedies: readonly string[]) => Promise<readonly string[]>
  /** Further commands that show it. */
  readonly also?: readonly Asked[]
  /** What the state is when all is well again. */
  readonly after: Asked
}

export interface Incident {
  readonly name: string
  /** What has happened, which the operator does not know. */
  readonly happened: string
  readonly engines: readonly EngineKind[]
  /** Whether nodes have only the rights that the guide grants. */
  readonly leastPrivilege?: true
  readonly stage: (site: Site) => Promise<Staged>
}
