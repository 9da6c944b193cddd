/** What the dashboard shows. */
import {
  activityLabel,
  attempts,
  checkLabel,
  fact,
  names,
  operationLabel,
  outcomeLabel,
  ready,
  severityLabel,
  stateLabel,
  topicLabel,
} from './expressions.ts'
import type { AlertLevels } from './rules.ts'

export interface Panel {
  readonly title: string
  readonly type: 'timeseries' | 'stat' | 'table'
  readonly unit: string
  readonly queries: readonly (readonly [expression: string, legend: string])[]
  /** From where on a value is drawn as bad. */
  readonly bad?: number
  /** Whether small values are the bad ones. */
  readonly below?: true
}

export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

type Query = Panel['queries'][number]

const topic = `{{${topicLabel}}}`
const span = '$__rate_interval'
const rate = (name: string, by: string): string => `sum by (${by}) (rate(${name}[${span}]))`
const quantile = (share: number, name: string, by: string): string =>
  `histogram_quantile(${share}, ${rate(`${name}_bucket`, `le, ${by}`)})`

const chart = (title: string, unit: string, ...queries: readonly Query[]): Panel => ({ title, type: 'timeseries', unit, queries })
const number = (title: string, query: Query): Panel => ({ title, type: 'stat', unit: 'short', queries: [query] })
const table = (title: string, query: Query): Panel => ({ title, type: 'table', unit: 'short', queries: [query] })

export function rowsOf({ BacklogAge, PausedLong, TimerOverdue, FailureRatio, NobodyProcesses }: AlertLevels): readonly Row[] {
  const abandoned = `${ready()} > 0 and on (${topicLabel}) ${fact(names.nodes)} < ${NobodyProcesses.level}`
  const found = `max by (${checkLabel}, ${severityLabel}) (${names.examination}{${severityLabel}=~"warn|crit"})`
  return [
    {
      title: 'Attention',
      panels: [
        table('Alerts', ['ALERTS{alertname=~"Taskstream.+"}', '{{alertname}}']),
        { ...number('Topics that nobody processes', [`count(${abandoned}) or vector(0)`, 'topics']), bad: 1 },
        { ...number('New errors', [`sum(${fact(names.newErrors)})`, 'errors']), bad: 1 },
        table('What the doctor has found', [found, '']),
      ],
    },
    {
      title: 'Backlog',
      panels: [
        chart('Tasks that have not ended', 'short', [
          `max by (${topicLabel}, ${stateLabel}) (${names.tasks})`,
          `${topic} {{${stateLabel}}}`,
        ]),
        { ...chart('Age of the oldest ready task', 's', [fact(names.oldestReady), topic]), bad: BacklogAge.level / 1_000 },
        { ...chart('Paused for', 's', [`${fact(names.paused)} > 0`, topic]), bad: PausedLong.level / 1_000 },
      ],
    },
    {
      title: 'Latency',
      panels: [
        chart('Handlers, half of the batches', 's', [quantile(0.5, names.process, topicLabel), topic]),
        chart('Handlers, 99 of 100 batches', 's', [quantile(0.99, names.process, topicLabel), topic]),
        chart('Calls of the database, 99 of 100', 's', [
          quantile(0.99, names.operation, operationLabel),
          `{{${operationLabel}}}`,
        ]),
      ],
    },
    {
      title: 'Failures by topic',
      panels: [
        {
          ...chart('Share of attempts that fail', 'percentunit', [
            `${attempts('5m', 'failure|retry')} / ${attempts('5m')}`,
            topic,
          ]),
          bad: FailureRatio.level,
        },
        chart('Attempts by outcome', 'ops', [rate(names.attempts, outcomeLabel), `{{${outcomeLabel}}}`]),
        chart('Failed in 15 minutes', 'short', [fact(names.failedRecent), topic]),
      ],
    },
    {
      title: 'Nodes',
      panels: [
        { ...chart('Nodes of a topic', 'short', [fact(names.nodes), topic]), bad: NobodyProcesses.level, below: true },
        chart('Slots in use', 'percentunit', [
          `sum by (${topicLabel}) (${names.slotsUsed}) / sum by (${topicLabel}) (${names.slots})`,
          topic,
        ]),
        chart(
          'Pushed and polled',
          'ops',
          [rate(names.sent, topicLabel), `${topic} pushed`],
          [rate(names.consumed, topicLabel), `${topic} polled`],
        ),
        chart('Errors of nodes', 'ops', [rate(names.errors, activityLabel), `{{${activityLabel}}}`]),
        chart('Handlers that do not let go', 'ops', [rate(names.stuck, topicLabel), topic]),
        chart('Leases lost', 'ops', [rate(names.leaseLost, 'instance'), '{{instance}}']),
        chart('Age of heartbeats', 's', [`max by (instance) (${names.heartbeatAge})`, '{{instance}}']),
        chart('Event loop stood still', 'percentunit', [rate(`${names.blocked}_sum`, 'instance'), '{{instance}}']),
      ],
    },
    {
      title: 'Database',
      panels: [
        { ...number('Readable', [`max(${names.fleetUp})`, 'readable']), bad: 1, below: true },
        number('Version of the tables', [`max(${names.schemaVersion})`, 'version']),
        { ...chart('Timers overdue for', 's', [`max(${names.timerOverdue})`, 'timers']), bad: TimerOverdue.level / 1_000 },
      ],
    },
  ]
}
