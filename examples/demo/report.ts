/** The demo's output for people, on stderr: a bar while it works and a table at the end. stdout is for the result. */
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'

export interface LicenceRow {
  readonly licence: string
  readonly packages: number
  readonly files: number
  readonly bytes: number
}

export interface Proof {
  readonly engine: string
  readonly pushed: number
  readonly audited: number
  readonly duplicates: number
  readonly recovered: number
  readonly refused: number
  readonly ms: number
}

export function progressBar(total: number): SingleBar {
  const bar = new SingleBar({ format: '  {bar} {value}/{total} packages  {event}', stream: process.stderr, hideCursor: true })
  bar.start(total, 0, { event: '' })
  return bar
}

export function showLicences(rows: readonly LicenceRow[]): void {
  const table = new Table({
    head: ['licence', 'packages', 'files', 'MiB'],
    colAligns: ['left', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const { licence, packages, files, bytes } of rows) table.push([licence, packages, files, (bytes / 1024 ** 2).toFixed(1)])
  console.error(table.toString())
}

/** @returns whether every promise was kept */
export function showProof({ pushed, audited, duplicates, recovered, refused, ms, engine }: Proof): boolean {
  const promises: [boolean, string][] = [
    [audited === pushed, `${pushed} pushed, ${audited} audited`],
    [duplicates === 0, `${duplicates} audited twice`],
    [recovered > 0, `${recovered} taken up again from a worker that was killed or stopped`],
    [refused > 0, `${refused} completions refused, of the worker that woke up after its lease`],
  ]
  for (const [kept, promise] of promises) console.error(`  ${kept ? '✔' : '✘'} ${promise}`)
  console.error(`  on ${engine}, in ${(ms / 1000).toFixed(1)} s`)
  return promises.every(([kept]) => kept)
}
