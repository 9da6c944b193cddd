/** Libraries whose promises are kept here: for each a page of docs/reference, which the tests write. */
import { keptOfAsyncJobs } from './of-asyncjobs.ts'
import { keptOfCoordination } from './of-coordination.ts'
import { keptOfTaskLib } from './of-tasklib.ts'
import type { Requirement } from './requirements.ts'

export interface KeptPage {
  /** The page under docs, whose text before the marker is written by hand. */
  readonly page: string
  /** How many numbered requirements there are. Each has at least one row. */
  readonly count: number
  readonly rows: readonly Requirement[]
}

export const keptPages: readonly KeptPage[] = [
  { page: 'reference/tasklib.md', count: 17, rows: keptOfTaskLib },
  { page: 'reference/asyncjobs.md', count: 26, rows: keptOfAsyncJobs },
  { page: 'reference/warm-backup.md', count: 13, rows: keptOfCoordination },
]
