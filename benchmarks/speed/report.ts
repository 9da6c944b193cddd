/** The table at the end of a run, and what has to be known to read it. */
import Table from 'cli-table3'
import { figure } from './chart.ts'
import { percent } from './measure.ts'
import type { Row } from './rows.ts'
import { about } from './subjects.ts'

const head = [
  'scenario',
  'subject',
  'median',
  'unit',
  'rounds',
  'spread',
  '× best peer',
  'its spread',
  '× limit',
  'process µs',
  'server µs',
  'log bytes',
]

/** Costs are of one task: microseconds of the processes and of the server, and bytes of the server's log. */
export function tableOf(rows: readonly Row[]): string {
  const table = new Table({
    head,
    style: { head: [], border: [] },
    // An empty row between scenarios is enough.
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
    colAligns: head.map((_, index) => (index < 2 || index === 3 ? 'left' : 'right')),
  })
  let last = ''
  for (const row of rows) {
    if (row.scenario !== last && last !== '') table.push(head.map(() => ''))
    table.push([
      row.scenario === last ? '' : nameOf(row),
      row.subject,
      figure(row.median),
      row.unit,
      row.rounds,
      row.spread === null ? '' : percent(row.spread),
      row.subject === 'limit' ? '' : (row.ratioToBestPeer?.toFixed(2) ?? ''),
      row.subject === 'limit' || row.ratioSpread === null ? '' : percent(row.ratioSpread),
      row.ratioToLimit?.toFixed(2) ?? '',
      ...[row.processUs, row.serverUs, row.logBytes].map((cost) => (cost === null ? '' : figure(cost))),
    ])
    last = row.scenario
  }
  return table.toString()
}

function nameOf({ scenario, engine }: Row): string {
  return engine === 'PostgreSQL 18' || engine === 'Redis' ? scenario : `${scenario}, ${engine}`
}

/** How to read the table, how each subject is set up, and what is missing. */
export function notesOn(rows: readonly Row[], leftOut: readonly string[]): string {
  const subjects = new Set(rows.map(({ subject }) => subject))
  const lines = [
    'spread: the interquartile range of the rounds, relative to their median. process µs, server µs, log bytes: what a task costs in the processes that push or handle, and on the server.',
    ...Object.entries(about).flatMap(([subject, words]) => (subjects.has(subject) ? [`${subject}: ${words}.`] : [])),
    ...leftOut.map((each) => `Not measured: ${each}.`),
  ]
  return lines.join('\n')
}
